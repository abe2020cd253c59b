package timeline

import (
	"slices"
	"time"
)

// obstacleSteps returns the steps from the kubelet's pickup of the pod to the beginning of the pod's sandbox. The pod
// has at least one obstacle: a problem that prevented the creation of the sandbox. Between two obstacles, the cause of
// either obstacle might have delayed the pod. The pod might also have waited for the kubelet's next attempt to mount a
// volume.
func (f *fold) obstacleSteps(begun step) []step {
	steps := make([]step, 0, len(f.obstacles)+2)
	phases := f.phasesBeforeFirst(begun)
	for i, o := range f.obstacles {
		if i > 0 {
			before := f.obstacles[i-1]
			if due := retryMilestone(i - 1); f.bounds.find(due) != nil {
				steps = append(steps, stepWith(due, f.phasesBetween(begun, before, before.dueBy(), nil)))
				phases = f.phasesAfterRetry(begun, before, o)
			} else {
				phases = f.phasesBetween(begun, before, o.earliest, o.from)
			}
		}
		steps = append(steps, stepWith(o.key, phases))
	}
	last := f.obstacles[len(f.obstacles)-1]
	if due := retryMilestone(len(f.obstacles) - 1); f.bounds.find(due) != nil {
		steps = append(steps, stepWith(due, f.phasesBetween(begun, last, last.from.latestRetry(), nil)))
		return mergeRepeated(append(steps, f.stepToSandbox(begun, last.from.row().phases)))
	}
	ahead := stepWith(begun.key, f.phasesBetween(begun, last, maxInstant, nil))
	ahead.undated = begun.undated
	return mergeRepeated(append(steps, ahead))
}

// firstCheck is the usual maximum time until the kubelet first checks a pod's volumes and network. The time begins when
// the kubelet picks up the pod.
const firstCheck = instant(2 * time.Second)

// phasesBeforeFirst returns the possible phases between the kubelet's pickup of the pod and the first obstacle. If the
// kubelet's first check reported the obstacle, the obstacle existed before the check. If only a later check of the
// kubelet reported the obstacle, no evidence shows when the obstacle began.
func (f *fold) phasesBeforeFirst(begun step) []Phase {
	first, acknowledged := f.obstacles[0], f.bounds.find(podMilestone(MilestoneAcknowledged))
	phases := f.phasesBefore(first.from)
	if acknowledged == nil || first.earliest-acknowledged.latest <= firstCheck {
		return phases
	}
	return uniquePhases(phases, []Phase{begun.phase}, begun.also, []Phase{PhaseKubeletSync, PhaseAPIServer})
}

// phasesBefore returns the possible phases between the kubelet's pickup of the pod and the first Event about an
// obstacle. containerd 1.x, CRI-O and cri-dockerd pull an absent sandbox image and prepare the sandbox before they call
// the network plugin (containerd 1.7: pkg/cri/server/sandbox_run.go). containerd 2 calls the network plugin before this
// work. containerd 2 looks for the runtime handler even earlier, as its first step. containerd 1.x and older versions
// of CRI-O look for the runtime handler only after they have pulled the sandbox image. Before this pull, CRI-O can wait
// for the configuration of the network plugin.
func (f *fold) phasesBefore(h *obstacleEvent) []Phase {
	row := h.row()
	switch {
	case !row.afterImage || f.e.networkFirst:
		return row.earlier
	case f.e.imageFirst == 0:
		return uniquePhases(row.earlier, []Phase{PhaseNetwork, PhaseSandboxImage, PhaseSandbox})
	case f.mayHavePulledSandboxImage():
		return uniquePhases(row.earlier, []Phase{PhaseSandboxImage, PhaseSandbox})
	}
	return uniquePhases(row.earlier, []Phase{PhaseSandbox})
}

// phasesBetween returns the possible phases of a pod from one obstacle to the instant "until". The argument "next" is
// the obstacle that the kubelet reported at the instant "until". If the period does not end with an obstacle, "next" is
// nil. If the time of the kubelet's retry has no known limit, the retry might have succeeded long before the instant
// "until". Then the period can also contain the later steps until the sandbox began.
func (f *fold) phasesBetween(begun step, o obstacleOccurrence, until instant, next *obstacleEvent) []Phase {
	phases := slices.Clone(o.from.row().phases)
	if o.from.row().retry == nil {
		phases = uniquePhases(phases, []Phase{begun.phase}, begun.also, []Phase{PhaseKubeletSync, PhaseAPIServer})
	}
	if o.from.fromRuntime && next == nil && o.latest == o.from.last.latest {
		// The network might have become ready after the runtime last reported it as not ready. Then the kubelet might
		// have started to mount volumes.
		phases = append(phases, PhaseVolumes)
	}
	if next != nil {
		phases = appendMissing(phases, next.row().phases)
	}
	for i := range f.obstacleEvents {
		h := &f.obstacleEvents[i]
		if h.row().retry != nil && h.first.earliest < until && h.latestRetry() > o.latest && o.from.row().retry != nil {
			phases = appendMissing(phases, h.row().phases)
		}
	}
	if next != nil && next.row().sandboxFailed {
		return f.withHiddenSteps(phases, o, next)
	}
	return phases
}

// withHiddenSteps adds phases to the possible phases of the time from an obstacle to a failed sandbox. Some steps of
// the failed attempt might have succeeded before it failed. There are two cases:
//   - The obstacle is also a failed sandbox, and the time is longer than the kubelet's wait before a retry. So the
//     second attempt took a long time.
//   - The obstacle is another problem, for example a failed mount. No evidence shows when this problem was over and
//     when the attempt began. The kubelet might have restarted and begun the attempt without its usual wait. If both
//     problems have the same phase, withHiddenSteps adds nothing, because the error bound of this phase covers the
//     whole time.
func (f *fold) withHiddenSteps(phases []Phase, o obstacleOccurrence, next *obstacleEvent) []Phase {
	retried := o.from.row().sandboxFailed
	if retried && next.first.earliest-o.latest <= instant(podRetry+retrySlack) || !retried && len(phases) == 1 {
		return phases
	}
	for _, p := range f.phasesBefore(next) {
		if p != PhaseVolumes && !slices.Contains(phases, p) {
			phases = append(phases, p)
		}
	}
	if name, _ := phaseOrGroup(phases); name == PhaseUnattributed && !retried {
		return uniquePhases(phases, alsoKubeletSync)
	}
	return phases
}

// phasesAfterRetry returns the possible phases of a pod from a retry to the next obstacle. The argument "before" is the
// obstacle before the retry, and the argument "next" is the obstacle after the retry.
func (f *fold) phasesAfterRetry(begun step, before, next obstacleOccurrence) []Phase {
	return uniquePhases([]Phase{begun.phase}, begun.also, before.from.row().phases, f.phasesBefore(next.from),
		[]Phase{PhaseKubeletSync}, f.unreportedObstacles())
}

// stepToSandbox returns the step from the retry after the last obstacle to the beginning of the sandbox. If the kubelet
// dropped Events, the obstacle might have lasted longer, or another obstacle might have followed.
func (f *fold) stepToSandbox(begun step, obstacles []Phase) step {
	ahead := stepWith(begun.key,
		uniquePhases([]Phase{begun.phase}, begun.also, obstacles, []Phase{PhaseKubeletSync}, f.unreportedObstacles()))
	ahead.undated = begun.undated
	return ahead
}

// mergeRepeated merges adjacent steps that report the same obstacle.
func mergeRepeated(steps []step) []step {
	for i := range steps[:len(steps)-1] {
		s, next := &steps[i], &steps[i+1]
		s.undated = s.key.milestone == MilestoneHeldUp && s.phase == next.phase && slices.Equal(s.also, next.also)
	}
	return steps
}

// stepWith returns a step that can contain several phases.
func stepWith(key milestoneKey, phases []Phase) step {
	return step{key: key, phase: phases[0], also: phases[1:]}
}

// uniquePhases returns each phase of the lists once, in the order of the lists.
func uniquePhases(lists ...[]Phase) []Phase {
	var all []Phase
	for _, list := range lists {
		all = appendMissing(all, list)
	}
	return all
}

// appendMissing appends those phases of the list "more" that the list "phases" lacks. It can reuse the memory of
// "phases".
func appendMissing(phases, more []Phase) []Phase {
	for _, p := range more {
		if !slices.Contains(phases, p) {
			phases = append(phases, p)
		}
	}
	return phases
}

// unreportedObstacles returns the phases of obstacles about which the kubelet might have sent no Event. The kubelet
// limits the number of its Events about one pod. If the kubelet did not reach this limit, unreportedObstacles returns
// nil.
func (f *fold) unreportedObstacles() []Phase {
	made := 0
	for _, h := range f.obstacleEvents {
		made += h.count
	}
	if made < spamLimit && !f.e.eventLimitReached() {
		return nil
	}
	return possibleObstacles
}
