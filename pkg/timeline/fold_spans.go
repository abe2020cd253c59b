package timeline

import (
	"slices"
	"time"
)

// truncation is the largest error bound of a phase whose start and end are both truncated to seconds.
const truncation = 2 * time.Second

// endOfStartUp returns the state of the start-up and the milestone at which the start-up ended. If the agent gave up on
// the pod, the second result is the time when the agent gave up. If the start-up is still in progress, the second
// result is f.asOf, the time for which the fold computes the timeline.
func (f *fold) endOfStartUp(path []boundary) (State, *bound) {
	if b := f.bounds.find(podMilestone(MilestoneReady)); b != nil {
		return StateReady, b
	}
	if b := f.bounds.find(podMilestone(MilestoneSucceeded)); b != nil {
		// If a pod succeeded, its start-up ended when the last container began to run. The run itself is not part of
		// the start-up.
		for _, last := range slices.Backward(path) {
			if last.bound.key.milestone == MilestoneRunning {
				return StateSucceeded, last.bound
			}
		}
		return StateSucceeded, b
	}
	failed, deleted := f.bounds.find(podMilestone(MilestoneFailed)), f.bounds.find(podMilestone(MilestoneDeleted))
	switch {
	case deleted != nil && (failed == nil || deleted.estimate() < failed.estimate()):
		return StateDeleted, deleted // the containers fail because of the deletion
	case failed != nil:
		return StateFailed, failed
	}
	if f.e.givenUp(f.asOf.time()) {
		until := at(f.e.overdueAt())
		return StateGivenUp, &bound{earliest: until, latest: until}
	}
	return StateStarting, &bound{earliest: f.asOf, latest: f.asOf}
}

// spansBetween divides the time from start to end into phases. Each phase lies between two neighboring known
// milestones. A step with an estimated duration of zero is also a phase, because its error bound shows how long the
// step might have taken. Only PhaseKubeletSync is left out if its duration is zero.
func (f *fold) spansBetween(path []boundary, start, end *bound, state State) []Span {
	spans := make([]Span, 0, len(path)+1)
	from := start
	to := max(end.estimate(), start.estimate())
	worked := minInstant
	for _, b := range path {
		workedBefore := worked
		worked = f.workedBy(&b, worked)
		if b.bound.estimate() > to && b.phases[0] == PhaseFailedRun {
			continue // the container was still running at the end of the start-up
		}
		at := min(b.bound.estimate(), to)
		if at < from.estimate() {
			continue // an earlier phase already covers this time
		}
		if at == from.estimate() && b.phases[0] == PhaseKubeletSync {
			from = b.bound // add no phase of length zero; the next phase begins at this milestone
			continue
		}
		until := b.bound
		if b.bound.estimate() > to {
			until = end // the end of the start-up cuts the phase short
		}
		w := phaseCandidates{b.phases, b.container, b.attempt}
		switch {
		case f.runsMissing(from.key, b.bound.key):
			w = phaseCandidates{phases: []Phase{PhaseUnattributed}}
		case b.otherWait != nil && b.readyAt.estimate() < at:
			if ready := b.readyAt.estimate(); from.estimate() < ready {
				spans, from = f.appendSpan(spans, from, b.readyAt, ready, w), b.readyAt
			}
			w = *b.otherWait
		}
		spans = f.appendSpan(spans, from, until, at, w)
		last := &spans[len(spans)-1]
		last.Error = max(last.Error, min(b.latestBegin(w, workedBefore).sub(from.estimate()), last.Duration()))
		from = b.bound
		if at == to {
			return spans
		}
	}
	if to > from.estimate() {
		w := f.openPhase(to)
		switch {
		case f.e.overflow:
			// The evidence keeps only a limited number of attempts. So the time after the last known milestone can
			// include attempts that are not in the evidence.
			w = phaseCandidates{phases: []Phase{PhaseUnattributed}}
		case state == StateFailed && f.failedAfterRun(from.key):
			w = phaseCandidates{[]Phase{PhaseKubeletSync}, f.name(from.key), from.key.attempt}
		}
		spans = f.appendSpan(spans, from, end, to, w)
		if last := &spans[len(spans)-1]; state == StateStarting {
			last.Open, f.open = true, from
		}
	}
	return spans
}

// latestBegin returns the latest possible begin of a phase with the possible phases in w that ends at the boundary b.
// The phase begins after the previous milestone in the chain of b. A back-off or a wait for the kubelet also begins
// after all earlier work on main containers, because the kubelet works on one container at a time. The argument
// workedBy is the latest possible time of this work. The estimates of these milestones are before the phase. But if
// their intervals are wide, the milestones can be later than the estimated begin.
func (b *boundary) latestBegin(w phaseCandidates, workedBy instant) instant {
	switch w.phases[0] {
	case PhaseImageBackoff, PhaseCrashBackoff, PhaseKubeletSync:
		return max(b.fromLatest, workedBy)
	}
	return b.fromLatest
}

// workedBy returns the latest possible time of the kubelet's work on main containers up to the milestone of b. The
// argument "earlier" is this time for the boundaries before b.
func (f *fold) workedBy(b *boundary, earlier instant) instant {
	latest := b.bound.latest
	if latest <= max(earlier, b.bound.estimate()) || !f.isOfMainContainer(b) && !f.isLaterPull(b) {
		return earlier
	}
	return latest
}

// earliestSinceCreation returns the earliest possible time of a milestone. A contradiction in the evidence can leave
// the milestone without a lower bound. Then the result is the creation of the pod, because no milestone is earlier.
func (f *fold) earliestSinceCreation(b *bound) instant {
	if created := f.bounds.find(podMilestone(MilestoneCreated)); created != nil && b.earliest == minInstant {
		return min(created.earliest, b.latest)
	}
	return b.earliest
}

// runsMissing reports whether the evidence lacks runs of a container between the milestones "from" and "next". The
// evidence keeps only a limited number of attempts. Runs are missing if the next containers had to wait for this
// container, but none of its known runs ended the wait.
func (f *fold) runsMissing(from, next milestoneKey) bool {
	if from.container == podWide || from.container == next.container || !f.e.containers[from.container].overflow {
		return false
	}
	c := f.e.specOf(from.container)
	if c == nil || c.Kind == KindEphemeral {
		return false
	}
	came := f.containerReached(c)
	return came.BeforeMain() && came.PassedAt().IsZero()
}

func (f *fold) span(from, to *bound, until instant, w phaseCandidates) Span {
	if f.mayHidePulls(from, until, w) {
		w = withHiddenPulls(w)
	}
	if f.mayPrecedeRun(from, until, w) {
		w.phases = uniquePhases(w.phases, beforeHook)
	}
	if f.mayRepeatProbe(from, to, until, w) {
		w.phases = uniquePhases(w.phases, alsoProbeAgain)
	}
	w.phases = f.withFailedReplacement(from, to, w.phases)
	if isLateReplacement(from, to, w) {
		w.phases = uniquePhases(w.phases, f.delaysOfSandbox(from, to.latest))
	}
	w, pulling := f.withVolumePulls(from, to, until, w)
	w.phases = f.withLookupInPull(w.phases)
	phase, merged := phaseOrGroup(w.phases)
	s := Span{
		Phase: phase, Cause: CauseOf(phase), MergedWith: merged, Container: w.container,
		StartAt: from.estimate().time(), EndAt: until.time(), Error: f.spanError(from, to),
	}
	if w.container != "" {
		s.Attempt = int(w.attempt)
	}
	s.Error = max(s.Error,
		min(max(f.undatedWork(s, from.key, to.key), f.undatedSandboxWork(to.key), f.undatedRetry(s, from.key, to.key),
			f.slowest/2, pulling), s.Duration()))
	if f.e.Reconstructed() && s.Error > truncation && s.Error >= s.Duration() {
		// No evidence shows when the phase ended. For example, the pod might have become unready again before the agent
		// first saw the pod. The estimate of the phase's end is only the middle of a long interval. So the time can
		// also contain other phases.
		s.Phase, s.Cause = PhaseUnattributed, CauseOf(PhaseUnattributed)
		s.MergedWith = f.possiblePhases(from.key, w.phases)
		if from.key.milestone == MilestoneRunning && slices.ContainsFunc(f.containers, func(c *Container) bool {
			return c.Name != w.container && (c.PostStartHook || c.StartupProbe || c.ReadinessProbe)
		}) {
			s.Container, s.Attempt = "", 0 // the phases can belong to several containers
		}
	}
	s.Sources = (from.origins | to.origins).sources()
	return s
}

// possiblePhases returns the phases that a period can contain if no evidence shows when the period ended. If the period
// begins with the start of a container, the phases include hooks, probes and readiness gates.
func (f *fold) possiblePhases(from milestoneKey, phases []Phase) []Phase {
	if from.milestone != MilestoneRunning {
		return phases
	}
	add := func(wanted bool, p Phase) {
		if wanted {
			phases = uniquePhases(phases, []Phase{p})
		}
	}
	for _, c := range f.containers {
		add(c.PostStartHook, PhasePostStartHook)
		add(c.StartupProbe, PhaseStartupProbe)
		add(c.ReadinessProbe, PhaseReadinessProbe)
	}
	add(f.e.pod.ReadinessGates, PhaseReadinessGates)
	return phases
}

// failedAfterRun reports whether a pod failed because a container's run ended. After that run, the kubelet starts no
// other run. The remaining time is the wait for the status that reports the pod's failure. If the pod ended for another
// reason while the container was in back-off, failedAfterRun returns false.
func (f *fold) failedAfterRun(k milestoneKey) bool {
	return k.milestone == MilestoneFinished && !slices.ContainsFunc(f.containers, func(c *Container) bool {
		return c.Name == f.name(k) && c.WaitingReason == crashLoop
	})
}

// phaseOrGroup returns one phase for a period that can contain several phases. If all phases have the same cause,
// phaseOrGroup returns the first phase. The kubelet and the runtime count as one cause, because they work together. If
// the phases have different causes, phaseOrGroup returns a group phase. The result "merged" lists all possible phases
// except the returned phase. PhaseUnattributed stands for work that no other phase describes. If "phases" contains
// PhaseUnattributed and other phases, phaseOrGroup returns PhaseUnattributed.
func phaseOrGroup(phases []Phase) (name Phase, merged []Phase) {
	if len(phases) > 1 && slices.Contains(phases, PhaseUnattributed) {
		return PhaseUnattributed, slices.DeleteFunc(slices.Clone(phases), Phase.isUnattributed)
	}
	party := func(p Phase) Cause {
		if cause := CauseOf(p); cause != CauseRuntime {
			return cause
		}
		return CauseKubelet
	}
	name, merged = phases[0], phases[1:]
	for _, p := range merged {
		if party(p) != party(name) {
			return groupOf(phases), phases
		}
	}
	return name, merged
}
