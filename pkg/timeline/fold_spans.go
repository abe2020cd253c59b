package timeline

import (
	"slices"
)

// end returns the state of the start-up and where it ends.
func (f *fold) end(path []boundary) (State, *bound) {
	if b := f.bounds.find(podMilestone(MilestoneReady)); b != nil {
		return StateReady, b
	}
	if b := f.bounds.find(podMilestone(MilestoneSucceeded)); b != nil {
		// The start-up ended when the last container began to run. How long it ran does not count.
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
		return StateDeleted, deleted // the deletion makes the containers fail
	case failed != nil:
		return StateFailed, failed
	}
	if f.e.givenUp(f.asOf.time()) {
		until := at(f.e.firstSeen.at.Add(giveUpAfter))
		return StateGivenUp, &bound{earliest: until, latest: until}
	}
	return StateStarting, &bound{earliest: f.asOf, latest: f.asOf}
}

// spans partitions the time from start to end: each stretch between two neighboring boundaries is one phase. A step
// without duration is a phase too; its error shows how certain that is.
func (f *fold) spans(path []boundary, start, end *bound, state State) []Span {
	spans := make([]Span, 0, len(path)+1)
	from := start
	to := max(end.estimate(), start.estimate())
	for _, b := range path {
		if b.bound.estimate() > to && b.phases[0] == PhaseFailedRun {
			continue // it was still running at the end
		}
		at := min(b.bound.estimate(), to)
		if at < from.estimate() {
			continue // other work came first
		}
		if at == from.estimate() && b.phases[0] == PhaseKubeletSync {
			from = b.bound // a gap without duration: the next phase begins where it ended
			continue
		}
		until := b.bound
		if b.bound.estimate() > to {
			until = end // the end cuts it short
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
			w = phaseCandidates{phases: []Phase{PhaseUnattributed}} // the stretch contains attempts that were not kept
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

// runsMissing reports whether there were runs that were not kept between a container's milestone and the next
// milestone: later containers had to wait for a success of this one, and none of its known runs succeeded.
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

// failedAfterRun reports whether a failed pod failed at the end of a run. Then the kubelet runs nothing again, and
// the rest is the time until its status. It is false if the container waited for its next run when something else
// ended the pod.
func (f *fold) failedAfterRun(k milestoneKey) bool {
	return k.milestone == MilestoneFinished && !slices.ContainsFunc(f.containers, func(c *Container) bool {
		return c.Name == f.name(k) && c.WaitingReason == crashLoop
	})
}

// charge names a stretch that may contain several phases. If all have the same cause, it gets the name of the first
// one. The same applies to phases of the kubelet and the runtime, which work together. If different parties may be to
// blame, the phase is unattributed.
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
