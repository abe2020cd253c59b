package timeline

import (
	"cmp"
	"slices"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// When a container's image changes, the kubelet stops the container, and pulls the new image without a back-off. The
// evidence does not show the times of these steps. In simple cases, the Events show which pull attempt concerns which
// image. In all other cases, findUnclearChanges selects the container, and blurChanges changes most of the container's
// phases to PhaseUnattributed.

// phasesOfChange returns the phases that the evidence cannot tell apart after a container's image changed.
func phasesOfChange() []Phase {
	return []Phase{PhaseKubeletSync, PhasePullQueue, PhasePull, PhaseUnpack, PhaseImageBackoff, PhaseContainerCreate}
}

// findUnclearChanges finds the containers whose image changes are unclear. For such a container, the evidence does not
// show which image a phase belongs to. The changes of a container's image are unclear if one of these conditions is
// true:
//   - The agent did not observe the change, and infers it from the pod's generation or from an Event.
//   - The image changed back to an earlier image.
//   - The container might have run before its image changed, or it ran more than once.
//   - The kubelet repeated a pull request after the image changed or after the kubelet restarted. Then Events about
//     different images can have the same count.
//
// If a container's image changed and another container's spec ever named the old or the new image, the changes of both
// containers are unclear. The reason is that the kubelet keeps one back-off for each image of a pod, not for each
// container.
func (f *fold) findUnclearChanges() {
	var changed []*Container
	for _, c := range f.containers {
		if f.hasChanged(c) {
			changed = append(changed, c)
		}
	}
	if len(changed) == 0 {
		return
	}
	indexes := make([]int16, len(f.containers))
	for i, c := range f.containers {
		indexes[i] = f.index(c.Name)
	}
	for _, c := range changed {
		index := f.index(c.Name)
		if f.changedUnclearly(index, c) {
			f.setUnclear(index)
		}
		for _, other := range indexes {
			if other != podWide && other != index && f.e.shareImage(index, other) {
				f.setUnclear(index)
				f.setUnclear(other)
			}
		}
	}
}

func (f *fold) setUnclear(index int16) {
	if f.unclear == nil {
		f.unclear = make([]bool, len(f.e.containers))
	}
	f.unclear[index] = true
}

// changesUnclear reports whether the changes of a container's image are unclear, according to findUnclearChanges.
func (f *fold) changesUnclear(c *Container) bool {
	index := f.index(c.Name)
	return f.unclear != nil && index != podWide && f.unclear[index]
}

// shareImage reports whether the specs of two containers ever named the same image.
func (e *Evidence) shareImage(a, b int16) bool {
	return slices.ContainsFunc(e.containers[a].images, func(image observedImage) bool {
		return slices.ContainsFunc(e.containers[b].images, func(o observedImage) bool { return o.ref == image.ref })
	})
}

// hasChanged reports whether a container's image changed before the pod was ready, or might have changed before the
// agent observed the pod. If an Event names another image than the container's current image, the agent missed a change
// of the image. If the pod's spec changed before the agent observed the pod, a change of the image might have caused
// the container's second run.
func (f *fold) hasChanged(c *Container) bool {
	index := f.index(c.Name)
	if index == podWide {
		return false
	}
	e := &f.e.containers[index]
	switch {
	case e.imageChanged():
		ready := f.bounds.find(podMilestone(MilestoneReady))
		return ready == nil || e.imagesBy(ready.latest) > 1
	case f.e.observedSinceCreation() || f.e.generation == 1:
		return false
	case f.e.mayMissChange() && f.lastAttempt(index, MilestoneContainerCreated, MilestoneRunning) > 0:
		return true
	}
	return e.namesOtherImage(textHash(c.Image))
}

// imagesBy returns the number of different images that the container's specs had named by the given instant.
func (c *containerEvidence) imagesBy(by instant) (n int) {
	for _, image := range c.images {
		if image.at <= by {
			n++
		}
	}
	return n
}

// namesOtherImage reports whether an Event about the container names an image other than the given image.
func (c *containerEvidence) namesOtherImage(latest uint64) bool {
	pulled := func(p pulledEvent) bool { return p.image != latest }
	return c.pulled.known() && pulled(c.pulled) || slices.ContainsFunc(c.laterPulled, pulled) ||
		slices.ContainsFunc(c.requested, func(r requestEvent) bool { return r.image != latest }) ||
		slices.ContainsFunc(c.failures, func(failed failureEvent) bool { return failed.image != latest })
}

// changedUnclearly reports whether a container's own evidence leaves the changes of its image unclear. changedUnclearly
// ignores other containers with the same image.
func (f *fold) changedUnclearly(index int16, c *Container) bool {
	e := &f.e.containers[index]
	return !e.imageChanged() || f.ranBefore(index, e.newestImage().at) || f.attemptsUnclear(index, c)
}

// newestImage returns the image that appeared last in the container's spec. If an image appeared several times, only
// its first appearance counts.
func (c *containerEvidence) newestImage() observedImage {
	return slices.MaxFunc(c.images, func(a, b observedImage) int { return cmp.Compare(a.at, b.at) })
}

// attemptsUnclear reports whether the evidence does not show which image a pull attempt of a container was for.
func (f *fold) attemptsUnclear(index int16, c *Container) bool {
	e := &f.e.containers[index]
	if !e.imageChanged() {
		return false
	}
	if e.newestImage().ref != c.Image {
		return true
	}
	for i, r := range e.requested {
		if r.count > 1 && i > 0 || r.count > 1 && i+1 < len(e.requested) && f.repeatedAfter(index, e.requested[i+1]) {
			return true
		}
	}
	return false
}

// ranBefore reports whether a container might have run before an instant, or has run more than once.
func (f *fold) ranBefore(index int16, changed instant) bool {
	if f.lastAttempt(index, MilestoneContainerCreated, MilestoneRunning, MilestoneFinished) > 0 {
		return true
	}
	for _, m := range []Milestone{MilestoneContainerCreated, MilestoneRunning, MilestoneFinished} {
		if b := f.bounds.find(milestoneKey{index, 0, m}); b != nil && b.earliest < changed {
			return true
		}
	}
	return false
}

// repeatedAfter reports whether the kubelet repeated a pull request after the request "next", but before a request for
// another image. The repeated request can be "next" or an earlier request.
func (f *fold) repeatedAfter(index int16, next requestEvent) bool {
	return slices.ContainsFunc(f.pulls[index].requests, func(r imageRequest) bool {
		return r.key.attempt > 0 && r.image == next.image && r.origin == originEventSecond && r.latest > next.latest
	})
}

// blurChanges changes phases to PhaseUnattributed if they belong to a container whose image changes are unclear. A
// phase stays unchanged if one source reports both its beginning and its end. If the container's own image did not
// change, the phases during and between the container's runs also stay unchanged. Phases of the whole pod always stay
// unchanged.
func (f *fold) blurChanges(t *Timeline) {
	for _, c := range f.containers {
		if !f.changesUnclear(c) {
			continue
		}
		changed := f.hasChanged(c)
		for i := range t.Phases {
			s := &t.Phases[i]
			if s.Container == c.Name && !f.isReported(*s) && (changed || !s.isOnlyOf(PhaseInitRun, PhaseFailedRun,
				PhaseStartupProbe, PhaseReadinessProbe, PhasePostStartHook, PhaseCrashBackoff)) {
				s.blur()
			}
		}
	}
}

// isOnlyOf reports whether all possible phases of a span are in the list.
func (s *Span) isOnlyOf(list ...Phase) bool {
	for _, p := range append([]Phase{s.Phase}, s.MergedWith...) {
		if !p.IsGroup() && !slices.Contains(list, p) {
			return false
		}
	}
	return true
}

// isReported reports whether a span is the start of a container, or a part of a pull whose end an Event reports.
func (f *fold) isReported(s Span) bool {
	switch s.Phase {
	case PhaseContainerStart: // the runtime reports the beginning and the end of this phase
		return true
	case PhasePullQueue, PhasePull, PhaseUnpack, PhaseImagePull:
		p := &f.pulls[f.index(s.Container)]
		return !s.Open && p.pulled.known() && !p.pulled.present && s.Attempt == int(p.finalAttempt)
	}
	return false
}

// clearAttempts returns the attempts to pull a container's image that certainly happened. If the changes of the image
// are unclear, clearAttempts returns only the attempts whose image an Event names. If there is no such attempt, or if
// attemptsUnclear returns true, the result is one attempt with an unknown outcome.
func (f *fold) clearAttempts(c *Container, attempts []pullAttempt) []pullAttempt {
	if !f.changesUnclear(c) {
		return attempts
	}
	index := f.index(c.Name)
	last := attempts[len(attempts)-1]
	named := slices.DeleteFunc(slices.Clone(attempts), func(a pullAttempt) bool {
		return f.pulls[index].imageNamed(a.attempt) == 0
	})
	if len(named) == 0 || f.attemptsUnclear(index, c) {
		return []pullAttempt{{attempt: last.attempt, outcome: imagepull.OutcomeUnknown}}
	}
	return named
}

// blur changes a span's phase to PhaseUnattributed. MergedWith then lists the possible phases: the span's own phases
// and the result of phasesOfChange. A change of the image can end a run before the container is ready. So if
// PhaseFailedRun or PhaseReadinessProbe is possible, MergedWith contains both.
func (s *Span) blur() {
	own := s.MergedWith
	if !s.Phase.IsGroup() {
		own = append([]Phase{s.Phase}, own...)
	}
	runs := []Phase{PhaseFailedRun, PhaseReadinessProbe}
	if !slices.ContainsFunc(runs, func(p Phase) bool { return slices.Contains(own, p) }) {
		runs = nil
	}
	s.Phase, s.Cause, s.MergedWith = PhaseUnattributed, CauseUnknown, uniquePhases(own, runs, phasesOfChange())
}

// pullBeforeRestart returns the pull phases that can take place before a container's next run. If the pull policy is
// Always, or if the image changed, the kubelet checks or pulls the image at an unknown time before the next run. If a
// pull of the image ever failed, the result also contains the back-off.
func (f *fold) pullBeforeRestart(c *Container, index int16) []Phase {
	e := &f.e.containers[index]
	switch {
	case c.PullPolicy != PullAlways && !f.hasChanged(c):
		return nil
	case len(e.failures) > 0 || len(e.statusReasons) > 0:
		return uniquePhases(alsoWholePull, []Phase{PhaseImageBackoff})
	}
	return alsoWholePull
}
