package timeline

import (
	"slices"
)

// end says how far start-up has come and where it ends.
func (f *fold) end(path []boundary) (State, *bound) {
	if b := f.bounds.find(podMark(MarkReady)); b != nil {
		return StateReady, b
	}
	if b := f.bounds.find(podMark(MarkSucceeded)); b != nil {
		// Start-up was over when the last container ran; how long it ran is its own business.
		for _, last := range slices.Backward(path) {
			if last.bound.key.mark == MarkRunning {
				return StateSucceeded, last.bound
			}
		}
		return StateSucceeded, b
	}
	failed, deleted := f.bounds.find(podMark(MarkFailed)), f.bounds.find(podMark(MarkDeleted))
	switch {
	case deleted != nil && (failed == nil || deleted.estimate() < failed.estimate()):
		return StateDeleted, deleted // that its containers then fail is what deletion does
	case failed != nil:
		return StateFailed, failed
	}
	if f.e.givenUp(f.asOf.time()) {
		until := at(f.e.firstSeen.at.Add(giveUpAfter))
		return StateGivenUp, &bound{earliest: until, latest: until}
	}
	return StateStarting, &bound{earliest: f.asOf, latest: f.asOf}
}

// spans partitions the time from start to end: every stretch between two neighboring boundaries is
// one phase. A step that took no time is one too: its error says how sure that is.
func (f *fold) spans(path []boundary, start, end *bound, state State) []Span {
	spans := make([]Span, 0, len(path)+1)
	from := start
	to := max(end.estimate(), start.estimate())
	for _, b := range path {
		if b.bound.estimate() > to && b.phases[0] == PhaseFailedRun {
			continue // it still ran at the end
		}
		at := min(b.bound.estimate(), to)
		if at < from.estimate() {
			continue // overtaken by other work
		}
		if at == from.estimate() && b.phases[0] == PhaseKubeletSync {
			from = b.bound // a gap of no length; what follows begins where it ended
			continue
		}
		until := b.bound
		if b.bound.estimate() > to {
			until = end // cut short by it
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
			w = phaseCandidates{phases: []Phase{PhaseUnattributed}} // attempts that were not kept lie in there
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

// runsMissing says that runs that were not kept lie between one container's mark and the mark of what follows: the containers
// after it had to wait for it to pass, and in none of its runs that are known it did.
func (f *fold) runsMissing(from, next markKey) bool {
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

// failedAfterRun says that a pod that failed did so with the end of a run: the kubelet runs nothing again, and what is left is the
// way to its status. Not so if the container waited for its next run when something else ended the pod.
func (f *fold) failedAfterRun(k markKey) bool {
	return k.mark == MarkFinished && !slices.ContainsFunc(f.containers, func(c *Container) bool {
		return c.Name == f.name(k) && c.WaitingReason == crashLoop
	})
}

// charge names a stretch that may hold several phases. Neighbors of one cause go under the first one's
// name, and so do the kubelet's and the runtime's, who work hand in hand. Where different parties could be
// to blame, nobody is.
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
