package timeline

import (
	"cmp"
	"slices"
)

// This file handles containers that were ready and then lost their readiness while the pod still waited for another
// container or for its readiness gates. Either the readiness probe failed again, or the container ended.

// readyAgain is the milestone at which all containers became ready again, for the last time before the pod was ready.
// MilestoneContainersReady with attempt 0 is the first time at which all containers became ready.
var readyAgain = milestoneKey{podWide, 1, MilestoneContainersReady}

// readyAgainConstraints returns the constraints of readyAgain. If all containers became ready only once before the pod
// was ready, readyAgainConstraints returns no constraints.
func (f *fold) readyAgainConstraints() []constraint {
	first, known := f.e.latestTime(podMilestone(MilestoneContainersReady))
	podReady, _ := f.e.latestTime(podMilestone(MilestoneReady))
	for _, t := range slices.Backward(f.e.readyTimes) {
		if known && t.transitionAt > first && t.transitionAt <= podReady {
			return []constraint{second(readyAgain, originStatus, t.transitionAt.time()),
				arrivalConstraint(readyAgain, t.arrivedAt.time(), t.live)}
		}
	}
	return nil
}

// readyRun returns the number of the last run in which a container was ready. readyRun ignores the runs that began
// after all containers had been ready.
func (f *fold) readyRun(index int16) uint16 {
	all, run := f.bounds.find(podMilestone(MilestoneContainersReady)), f.lastAttempt(index, MilestoneContainerReady)
	for ; all != nil && run > 0; run-- {
		ran := f.bounds.find(milestoneKey{index, run, MilestoneRunning})
		if f.bounds.find(milestoneKey{index, run, MilestoneContainerReady}) != nil &&
			(ran == nil || ran.earliest <= all.latest) {
			break
		}
	}
	return run
}

// readyBound returns the time bounds of a container's readiness in the run that readyRun returns. If the container was
// not ready in this run, readyBound returns nil.
func (f *fold) readyBound(c *Container) *bound {
	index := f.index(c.Name)
	return f.bounds.find(milestoneKey{index, f.readyRun(index), MilestoneContainerReady})
}

// lostBefore reports whether another container had lost its readiness when the last container became ready. The
// argument "ready" is the milestone at which the last container became ready. If no container had lost its readiness,
// the kubelet reports in the same status that the last container is ready and that all containers are ready.
func (f *fold) lostBefore(ready milestoneKey) bool {
	if all := f.bounds.find(podMilestone(MilestoneContainersReady)); all != nil {
		return all.earliest > f.bounds.find(ready).latest
	}
	lost := false
	for _, c := range f.containers {
		if c.Kind == KindInit || c.Kind == KindImageVolume {
			continue
		}
		own := milestoneKey{f.index(c.Name), clampAttempt(c.Attempt), MilestoneContainerReady}
		if c.State != StateRunning || f.bounds.find(own) == nil {
			return false
		}
		lost = lost || !c.Ready
	}
	return lost
}

// regainedStep returns the step until all containers were ready, if another container had lost its readiness when the
// container "last" became ready. Only a container with a readiness probe can lose its readiness while it runs, unless
// the kubelet restarts: see undatedLoss.
func (f *fold) regainedStep(last *Container) step {
	probed := slices.ContainsFunc(f.containers, func(c *Container) bool {
		return c.Kind != KindInit && c.ReadinessProbe && c.Name != last.Name
	})
	return step{key: podMilestone(MilestoneContainersReady), phase: probePhase(probed, PhaseReadinessProbe)}
}

// onlyReadinessProbe returns the only container with a readiness probe, or nil if there are several such containers.
func (f *fold) onlyReadinessProbe() *Container {
	var only *Container
	for _, c := range f.containers {
		switch {
		case c.Kind == KindInit || !c.ReadinessProbe:
		case only != nil:
			return nil
		default:
			only = c
		}
	}
	return only
}

// phasesAfterLoss returns the possible phases of a pod whose containers had all been ready, after one of these
// containers lost its readiness. The container can have lost its readiness after the last known milestone.
func (f *fold) phasesAfterLoss(lost *Container) phaseCandidates {
	w := phaseCandidates{phases: []Phase{probePhase(lost.ReadinessProbe, PhaseReadinessProbe)}}
	if f.onlyReadinessProbe() == lost {
		w.container, w.attempt = lost.Name, clampAttempt(lost.Attempt)
	}
	if f.e.pod.ReadinessGates && f.bounds.find(podMilestone(MilestoneContainersReady)) != nil {
		w.phases = f.phasesWithGates()
	}
	return w
}

// phasesWithGates returns the possible phases of a pod that waits for its readiness gates, if its containers can lose
// their readiness during this wait. Without evidence about the gates, no source shows whether the gates or the
// containers delayed the pod.
func (f *fold) phasesWithGates() []Phase {
	phases := f.possiblePhases(milestoneKey{milestone: MilestoneRunning}, []Phase{PhaseReadinessGates})
	if slices.Contains(phases, PhaseReadinessProbe) {
		phases = append(phases, PhaseKubeletSync) // see undatedLoss
	}
	return phases
}

// undatedLoss reports whether the phase s can have a cause other than s.Cause, in two cases:
//   - A container was no longer ready when the last container became ready. Either the container lost its readiness, or
//     the kubelet restarted: after a restart, a kubelet before version 1.35 reports a container as not ready until the
//     container's next probe (UpdatePodStatus in pkg/kubelet/prober).
//   - A container restarted while the pod waited for its readiness gates. The kubelet needs time to report that the
//     container runs.
func undatedLoss(s Span, begin, end milestoneKey) bool {
	return s.Phase == PhaseReadinessProbe && begin.milestone == MilestoneContainerReady &&
		end.milestone != MilestoneFinished || s.Phase == PhaseReadinessGates && begin.milestone == MilestoneRunning
}

// readyDuring returns the time at which a container was ready during the run that ended at the milestone "end". If no
// evidence shows that the container was ready before this end, readyDuring returns nil.
func (f *fold) readyDuring(end milestoneKey) *bound {
	if end.milestone != MilestoneFinished {
		return nil
	}
	ended := f.bounds.find(end)
	end.milestone = MilestoneContainerReady
	if ready := f.bounds.find(end); ready != nil && ready.latest < ended.earliest {
		return ready
	}
	return nil
}

// waitBesides examines the end of a run whose container had been ready. It returns what the pod waited for at this
// time: the kubelet's work on another container, a back-off, a probe or the readiness gates. The argument "later" holds
// the known milestones after this end (as boundaries), in order of time. If the evidence does not show what the pod
// waited for, the result contains PhaseUnattributed. If all other containers were ready and the pod has no readiness
// gates, waitBesides returns nil.
func (f *fold) waitBesides(end *boundary, later []boundary) *phaseCandidates {
	at := end.bound.estimate()
	var failing, probing, ended *phaseCandidates
	for i := range later {
		o := &later[i]
		if o.from >= at || !f.isOtherWait(o, end) {
			continue
		}
		w := &phaseCandidates{slices.Clip(o.phases), o.container, o.attempt}
		if o.bound.key.milestone != MilestoneFinished {
			return w
		}
		failing = cmp.Or(failing, w)
	}
	mayWait := f.e.pod.ReadinessGates
	for i, c := range f.containers {
		if c.Name == end.container || c.Kind == KindInit || c.Kind == KindImageVolume || f.isReadyAt(c, at) {
			continue
		}
		mayWait = true
		if next := f.unfinishedWork(i, at); next != nil {
			return next
		}
		probing = cmp.Or(probing, f.probeAt(c, at))
		if over := f.latestOf(c, MilestoneFinished); over != nil && over.estimate() <= at && f.endedForGood(c) {
			w := f.phasesBlockedBy(c)
			ended = &w
		}
	}
	ready := f.bounds.find(podMilestone(MilestoneContainersReady))
	switch {
	case probing != nil:
		return probing
	case failing != nil:
		return failing
	case f.e.pod.ReadinessGates && ready != nil && ready.estimate() <= at:
		return &phaseCandidates{phases: f.phasesWithGates()}
	case ended != nil || !mayWait:
		return ended
	}
	return &phaseCandidates{uniquePhases(end.phases, alsoUnattributed), end.container, end.attempt}
}

// isOtherWait reports whether the pod waits for the step that ends at the milestone of the boundary o, no matter what
// the container of the boundary "end" does. The result is true for steps of other main containers, and for the
// readiness gates. If the boundary o is the end of a run whose container had been ready, the result is false, because
// such an end does not delay the pod.
func (f *fold) isOtherWait(o, end *boundary) bool {
	switch {
	case o.readyAt != nil:
		return false
	case o.bound.key.milestone == MilestoneContainersReady, o.bound.key.milestone == MilestoneReady:
		return o.from != minInstant
	}
	return o.container != end.container && f.isOfMainContainer(o)
}

// unfinishedWork returns the possible phases of the work on a main container whose next step is not known. The pod must
// have waited for this work since the last known step. The argument "i" is the index of the container in f.containers.
func (f *fold) unfinishedWork(i int, at instant) *phaseCandidates {
	c := f.containers[i]
	if c.Kind != KindMain || f.failed() || f.bounds.find(podMilestone(MilestoneReady)) != nil {
		return nil
	}
	if next := f.nextStep(f.chains[i]); next != nil {
		return next
	}
	return f.nextRun(c, at)
}

// isReadyAt reports whether a container was ready at the given instant, and had not ended.
func (f *fold) isReadyAt(c *Container, at instant) bool {
	ran := f.lastStart(f.index(c.Name), at)
	return ran != nil && f.passed(ran.key, MilestoneContainerReady, at) && !f.passed(ran.key, MilestoneFinished, at)
}

// passed reports whether a run had reached a milestone at the given instant. The argument "run" is any milestone of the
// run.
func (f *fold) passed(run milestoneKey, m Milestone, at instant) bool {
	run.milestone = m
	b := f.bounds.find(run)
	return b != nil && b.estimate() <= at
}

// probeAt returns the probe that a container had not passed at the given instant. If the container was not running, or
// if it has no such probe, probeAt returns nil. If the evidence does not show whether the container had passed the
// probe, the result contains PhaseUnattributed.
func (f *fold) probeAt(c *Container, at instant) *phaseCandidates {
	ran := f.lastStart(f.index(c.Name), at)
	if ran == nil || f.passed(ran.key, MilestoneFinished, at) {
		return nil
	}
	w := &phaseCandidates{container: c.Name, attempt: ran.key.attempt}
	switch {
	case c.StartupProbe && !f.passed(ran.key, MilestoneStarted, at):
		w.add(PhaseStartupProbe)
	case c.ReadinessProbe:
		w.add(PhaseReadinessProbe)
	default:
		return nil
	}
	ready := milestoneKey{ran.key.container, ran.key.attempt, MilestoneContainerReady}
	unseen := f.bounds.find(ready) == nil && f.bounds.find(podMilestone(MilestoneContainersReady)) != nil
	if unseen || f.bounds.find(ready) != nil && !f.reportedLive(ready) {
		w.add(PhaseUnattributed) // a status reported the readiness late or not at all
	}
	return w
}

// reportedLive reports whether a watch delivered the pod object that first reported the milestone.
func (f *fold) reportedLive(k milestoneKey) bool {
	c, found := findArrival(f.constraints, k)
	return found && c.bias == biasLatest
}
