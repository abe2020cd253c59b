package timeline

import (
	"slices"
)

// end returns the state of the start-up and the milestone at its end.
func (f *fold) end(path []boundary) (State, *bound) {
	if b := f.bounds.find(podMilestone(MilestoneReady)); b != nil {
		return StateReady, b
	}
	if b := f.bounds.find(podMilestone(MilestoneSucceeded)); b != nil {
		// The start-up ended when the last container began to run. The duration of that run does not count.
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
		until := at(f.e.firstSeen.at.Add(giveUpAfter))
		return StateGivenUp, &bound{earliest: until, latest: until}
	}
	return StateStarting, &bound{earliest: f.asOf, latest: f.asOf}
}

// spansBetween partitions the time from start to end. Each stretch between two neighboring boundaries is one phase. A
// step without duration is also a phase, and its error shows how certain the duration is.
func (f *fold) spansBetween(path []boundary, start, end *bound, state State) []Span {
	spans := make([]Span, 0, len(path)+1)
	from := start
	to := max(end.estimate(), start.estimate())
	for _, b := range path {
		if b.bound.estimate() > to && b.phases[0] == PhaseFailedRun {
			continue // the container was still running at the end
		}
		at := min(b.bound.estimate(), to)
		if at < from.estimate() {
			continue // other work came first
		}
		if at == from.estimate() && b.phases[0] == PhaseKubeletSync {
			from = b.bound // skip a gap without duration: the next phase begins at its end
			continue
		}
		until := b.bound
		if b.bound.estimate() > to {
			until = end // the end of the start-up cuts the phase short
		}
		w := phaseCandidates{b.phases, b.container, b.attempt}
		if f.runsMissing(from.key, b.bound.key) {
			w = phaseCandidates{phases: []Phase{PhaseUnattributed}}
		}
		spans = append(spans, f.span(from, until, at, w))
		from = b.bound
		if at == to {
			return spans
		}
	}
	if to > from.estimate() {
		w := f.openPhase(to)
		switch {
		case f.e.overflow:
			w = phaseCandidates{phases: []Phase{PhaseUnattributed}} // the stretch contains attempts that were dropped
		case state == StateFailed && f.failedAfterRun(from.key):
			w = phaseCandidates{[]Phase{PhaseKubeletSync}, f.name(from.key), from.key.attempt}
		}
		last := f.span(from, end, to, w)
		if last.Open = state == StateStarting; last.Open {
			f.open = from
		}
		spans = append(spans, last)
	}
	return spans
}

// runsMissing reports whether runs of a container were dropped between its milestone and the next milestone.
// Runs were dropped if later containers waited for a success of this container, but no known run succeeded.
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
	phase, merged := charge(w.phases)
	s := Span{
		Phase: phase, Cause: CauseOf(phase), MergedWith: merged, Container: w.container,
		StartAt: from.estimate().time(), EndAt: until.time(), Error: f.spanError(from, to),
	}
	if w.container != "" {
		s.Attempt = int(w.attempt)
	}
	s.Error = max(s.Error, min(max(f.undatedWork(s, from.key, to.key), f.slowest/2), s.Duration()))
	s.Sources = (from.origins | to.origins).sources()
	return s
}

// failedAfterRun reports whether a pod failed at the end of a run. The kubelet then starts no further run, and
// the remaining time is the wait for the pod's status. The result is false if the container waited for its next
// run when the pod ended for another reason.
func (f *fold) failedAfterRun(k milestoneKey) bool {
	return k.milestone == MilestoneFinished && !slices.ContainsFunc(f.containers, func(c *Container) bool {
		return c.Name == f.name(k) && c.WaitingReason == crashLoop
	})
}

// charge returns the name of a stretch that can contain several phases. If all phases have the same cause, the stretch
// gets the name of the first phase. The kubelet and the runtime count as the same cause here, because they work
// together. If the phases have different causes, the stretch is unattributed.
func charge(phases []Phase) (name Phase, merged []Phase) {
	party := func(p Phase) Cause {
		if cause := CauseOf(p); cause != CauseRuntime {
			return cause
		}
		return CauseKubelet
	}
	name, merged = phases[0], phases[1:]
	for _, p := range merged {
		if party(p) != party(name) {
			return PhaseUnattributed, phases
		}
	}
	return name, merged
}
