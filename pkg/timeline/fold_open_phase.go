package timeline

import (
	"cmp"
	"slices"
)

// crashLoop is the waiting reason in the status of a container in back-off. After a run has ended, the kubelet sets
// this reason only at its next attempt to start the container. Until this attempt, the status shows only that the last
// run ended.
const crashLoop = "CrashLoopBackOff"

// phaseCandidates holds the possible phases of a period, with the container and the attempt of these phases.
type phaseCandidates struct {
	phases    []Phase
	container string
	attempt   uint16
}

// openPhase returns the possible phases of the time after the last known milestone. openPhase searches for the first
// container whose last step is not known yet. The result contains the phases after the last known step of this
// container. If the kubelet works on a main container while another container waits for its next run, the result
// contains the work and not the wait: see boundaries. A run that ended after the instant "until" counts as running.
func (f *fold) openPhase(until instant) phaseCandidates {
	if f.nothingStarted() {
		next := *f.nextStep(f.pod)
		if ended := f.failed() || !f.e.pod.DeletedAt.IsZero(); ended && !f.e.firstSeen.live {
			// The kubelet might have removed the sandbox before the agent first saw the pod.
			next.phases = uniquePhases(next.phases, missedAttempts)
		}
		return next
	}
	var again, possibly *phaseCandidates
	for i, c := range f.containers {
		if next := f.nextStep(f.chains[i]); next != nil && (c.Kind != KindImageVolume || f.awaitsVolume(c, until)) {
			if i == 0 && next.phases[0] == f.chains[0].steps[0].phase && f.mayPullBeforeRunning(f.firstSandbox()) {
				next.phases = uniquePhases([]Phase{PhaseSandbox}, next.phases)
			}
			return f.withLaterWork(i, *next)
		}
		switch next := f.nextRun(c, until); {
		case next == nil:
		case c.Kind == KindInit || f.blocksLater(i):
			return *next
		case f.mayEndForGood(c, until):
			possibly = cmp.Or(possibly, next)
		default:
			again = cmp.Or(again, next)
		}
	}
	if again != nil {
		return *again
	}
	w := f.withoutNextRuns(until)
	if possibly != nil {
		w.add(possibly.phases...)
	}
	return w
}

// withoutNextRuns returns the possible phases of a pod if all its containers have started and the kubelet starts none
// of them again.
func (f *fold) withoutNextRuns(until instant) phaseCandidates {
	var ended, lost *Container
	for _, c := range f.containers {
		probing := phaseCandidates{container: c.Name, attempt: clampAttempt(c.Attempt)}
		switch {
		case c.Kind == KindInit || c.Kind == KindImageVolume:
		case f.endedForGood(c) || f.mayEndForGood(c, until):
			if ended == nil || c.ExitCode != 0 {
				ended = c
			}
		case c.Ready:
		case f.bounds.find(milestoneKey{f.index(c.Name), probing.attempt, MilestoneContainerReady}) != nil:
			if c.State == StateRunning { // if the container is not running, its run ended after "until"
				lost = cmp.Or(lost, c)
			}
		case !c.Started:
			probing.phases = []Phase{probePhase(c.StartupProbe, PhaseStartupProbe)}
			return probing
		default:
			probing.phases = []Phase{probePhase(c.ReadinessProbe, PhaseReadinessProbe)}
			return probing
		}
	}
	switch {
	case ended != nil:
		return f.phasesAfterEnd(ended)
	case lost != nil:
		return f.phasesAfterLoss(lost)
	}
	return phaseCandidates{phases: []Phase{f.lastPhase()}}
}

// blocksLater reports whether a container is a sidecar that has not started yet. Until the sidecar has started, the
// kubelet does not work on later containers. So if the evidence shows work on a later container, blocksLater returns
// false.
func (f *fold) blocksLater(i int) bool {
	c := f.containers[i]
	return c.Kind == KindSidecar &&
		f.bounds.find(milestoneKey{f.index(c.Name), f.lastRun(c), MilestoneStarted}) == nil &&
		!slices.ContainsFunc(f.containers[i+1:], func(later *Container) bool {
			return len(f.bounds.ofContainer(f.index(later.Name))) > 0
		})
}

// withLaterWork adjusts "next", the possible phases of container i. If the kubelet works on a later main container, and
// not on container i, withLaterWork returns the possible phases of this work. The kubelet starts main containers one
// after the other. So work on a later container is enough evidence that the kubelet has already created container i or
// failed to create it.
func (f *fold) withLaterWork(i int, next phaseCandidates) phaseCandidates {
	c := f.containers[i]
	index := f.index(c.Name)
	if c.Kind != KindMain || f.lastAttempt(index, MilestoneContainerCreated, MilestoneRunning) > 0 ||
		f.createdOrRefused(index) || next.phases[0] != PhaseContainerCreate {
		return next
	}
	for j := i + 1; j < len(f.containers); j++ {
		later := f.nextStep(f.chains[j])
		if later == nil || len(f.bounds.ofContainer(f.index(f.containers[j].Name))) == 0 {
			continue
		}
		if len(f.e.containers[index].refusedAt) > 0 || f.e.mayHaveMissedEvents(f.asOf) {
			later.phases = uniquePhases(later.phases, next.phases, []Phase{PhaseContainerConfig})
		}
		return *later
	}
	return next
}

// createdOrRefused reports whether there is evidence that the kubelet created a container or failed to create it.
func (f *fold) createdOrRefused(index int16) bool {
	return slices.ContainsFunc(creationMilestones,
		func(m Milestone) bool { return f.bounds.find(milestoneKey{index, 0, m}) != nil })
}

// creationMilestones lists the milestones that show that the kubelet created a container or failed to create it.
var creationMilestones = []Milestone{
	MilestoneConfigRefused, MilestoneCreateFailed, MilestoneContainerCreated, MilestoneRunning,
}

// nextRun returns the possible phases of the wait for a container's next run. nextRun returns nil in three cases: the
// kubelet will not start the container again, the last run ended after the instant "until", or the kubelet ended the
// last run together with the pod.
func (f *fold) nextRun(c *Container, until instant) *phaseCandidates {
	if !f.willRestart(c) && c.WaitingReason != crashLoop {
		return nil
	}
	index := f.index(c.Name)
	last := f.lastAttempt(index, MilestoneContainerCreated, MilestoneRunning, MilestoneFinished)
	finished := f.bounds.find(milestoneKey{index, last, MilestoneFinished})
	if finished != nil && (finished.estimate() > until || f.wasKilled(index, last)) {
		return nil
	}
	attempt := last + 1
	phase := phaseBeforeRun(attempt)
	if c.WaitingReason == crashLoop {
		phase = PhaseCrashBackoff
	}
	next := &phaseCandidates{[]Phase{phase}, c.Name, attempt}
	if c.WaitingReason != crashLoop || f.hasChanged(c) {
		next.add(f.alsoBeforeRun(c, attempt)...)
	}
	if finished != nil && f.e.sandboxLost() {
		next.phases = uniquePhases(alsoSandboxLost, f.laterObstacles, next.phases, f.delaysOfSandbox(finished, until))
	}
	return next
}

// nothingStarted reports whether the evidence shows no running sandbox and no work on any container.
func (f *fold) nothingStarted() bool {
	return !slices.ContainsFunc(f.bounds, func(b bound) bool { return b.key.container != podWide }) &&
		f.bounds.find(milestoneKey{podWide, f.lastAttempt(podWide, MilestoneSandboxRunning),
			MilestoneSandboxRunning}) == nil
}

// nextStep returns the possible phases after the last known step of a chain (the steps of the pod or of one container).
// The result is nil if the last step of the chain is known.
func (f *fold) nextStep(c chain) *phaseCandidates {
	next := 0
	for i, s := range c.steps {
		if f.bounds.find(s.key) != nil {
			next = i + 1
		}
	}
	if next == len(c.steps) {
		return nil
	}
	key := c.steps[next].key
	w := &phaseCandidates{[]Phase{c.steps[next].phase}, c.container, key.attempt}
	w.add(c.steps[next].also...)
	if n := len(f.obstacles); key.milestone == MilestoneSandboxBegun && n > 0 &&
		f.bounds.find(retryMilestone(n-1)) == nil {
		return w // the last obstacle explains the wait until the kubelet's next attempt
	}
	for _, s := range c.steps[next+1:] {
		if !reportedOnlyAfter(key.milestone, s.key.milestone) {
			break
		}
		w.add(s.phase)
		w.add(s.also...)
	}
	if f.mayHaveFailedUnnoticed(c.container, key.milestone) {
		w.add(PhaseImageBackoff)
	}
	if slices.Contains(w.phases, PhaseKubeletSync) && f.mayPullUnnoticed(c.container, key) {
		w.add(alsoWholePull...)
	}
	if c.steps[next].belongsToPrevious(w.phases) {
		w.container = f.containerBefore(c.container).Name
	}
	return w
}

func (w *phaseCandidates) add(phases ...Phase) { w.phases = appendMissing(w.phases, phases) }

// reportedOnlyAfter reports whether the first milestone becomes known only after the second milestone has happened.
// While both milestones are unknown, the pod can be before the first milestone or between the two milestones. For
// example, the runtime reports the beginning of a sandbox only when the sandbox runs. Similarly, the agent learns the
// start of a pull only from the runtime's response at the end of the pull.
func reportedOnlyAfter(first, second Milestone) bool {
	switch first {
	case MilestoneSandboxBegun:
		return second == MilestoneNetworkReady || second == MilestoneSandboxRunning
	case MilestoneNetworkReady:
		return second == MilestoneSandboxRunning
	case MilestonePullStarted:
		return second == MilestonePullDownloaded || second == MilestonePullFinished || second == MilestonePullFailed
	}
	return false
}

// willRestart reports whether the container's latest run ended and the kubelet will start the container again.
func (f *fold) willRestart(c *Container) bool {
	return f.restartsAfter(c, f.lastAttempt(f.index(c.Name), MilestoneContainerCreated, MilestoneRunning,
		MilestoneFinished))
}

// restartsAfter reports whether a run of a container ended and the kubelet starts the container again after this run.
// After a failure, the kubelet restarts the container unless RestartsNever is true. After a success, the kubelet
// restarts the container only if RestartsAlways is true and the container is not an init container.
func (f *fold) restartsAfter(c *Container, run uint16) bool {
	code, known := f.e.containers[f.index(c.Name)].exitCode(int(run))
	return known && !c.RestartsNever && (code != 0 || c.RestartsAlways && c.Kind != KindInit)
}

// endedForGood reports whether a container has ended and the kubelet will not start it again. A pod does not become
// ready if one of its containers has ended for good.
func (f *fold) endedForGood(c *Container) bool {
	return c.State == StateTerminated && !f.willRestart(c)
}

// mayEndForGood reports whether a main container failed before the instant "until", and the kubelet might not start it
// again. Since Kubernetes 1.34, restart rules can overrule the restart policy Never for some exit codes
// (ContainerShouldRestart in pkg/api/v1/pod). The evidence contains no restart rules. So a container with such rules
// looks like a container with the policy OnFailure. If all other main containers have terminated, mayEndForGood returns
// false. In this case, the kubelet either starts the container again or reports that the pod failed.
func (f *fold) mayEndForGood(c *Container, until instant) bool {
	return c.Kind == KindMain && c.State == StateTerminated && !c.RestartsAlways && f.nextRun(c, until) != nil &&
		slices.ContainsFunc(f.containers, func(o *Container) bool {
			return o.Kind == KindMain && o.Name != c.Name && o.State != StateTerminated
		})
}

func (f *fold) failedForGood(c *Container) bool { return f.endedForGood(c) && c.ExitCode != 0 }

// phasesAfterEnd returns the possible phases after a container has ended for good, while the pod waits for its other
// containers to end. If all main containers have ended and one of them failed, the kubelet stops the sidecars.
func (f *fold) phasesAfterEnd(ended *Container) phaseCandidates {
	w := f.phasesBlockedBy(ended)
	if ended.ExitCode != 0 && !slices.ContainsFunc(f.containers, func(c *Container) bool {
		return c.Kind == KindMain && !f.endedForGood(c)
	}) {
		w.add(PhaseKubeletSync)
	}
	return w
}

// phasesBlockedBy returns the possible phases of a pod that cannot become ready, because a container has ended for
// good. A failed container is the reason why the pod is not ready, unless the container was killed for a reason outside
// the pod (classifyKill). If the ended container succeeded, phasesBlockedBy returns PhaseUnattributed, because no phase
// describes how a pod runs to completion.
func (f *fold) phasesBlockedBy(ended *Container) phaseCandidates {
	if ended.ExitCode == 0 {
		return phaseCandidates{phases: []Phase{PhaseUnattributed}}
	}
	w := phaseCandidates{[]Phase{PhaseFailedRun}, ended.Name, clampAttempt(ended.Attempt)}
	if killed, explained := f.classifyKill(ended, w.attempt); killed && !explained {
		w.add(PhaseUnattributed)
	}
	return w
}

func (f *fold) failed() bool { return f.bounds.find(podMilestone(MilestoneFailed)) != nil }
