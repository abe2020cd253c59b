package timeline

import (
	"cmp"
	"slices"
)

// boundary is a known mark on the path, with the phases that lie between the mark before it and
// itself: one, or several that evidence cannot tell apart.
type boundary struct {
	bound     bound
	phases    []Phase
	container string
	from      instant // the mark before it in its own chain
}

// path is every known boundary from scheduling to readiness in the order of time. A container's
// boundaries keep their own phases, so that work on one container during another's back-off is
// charged to the work; a container that ends while kubelet works on another is no boundary at all,
// because kubelet goes on with that work first.
func (f *fold) path() []boundary {
	path, untold := f.boundaries(f.pod)
	path = path[1:] // the first is creation itself
	work := make([]boundary, 0, len(f.bounds))
	for _, c := range append(slices.Clip(f.chains), f.ready) {
		known, _ := f.boundaries(c)
		work = append(work, known...)
	}
	all := slices.Clone(work)
	work = slices.DeleteFunc(work, func(b boundary) bool { return duringWork(b, all) })
	slices.SortStableFunc(work, func(a, b boundary) int {
		return cmp.Compare(a.bound.estimate(), b.bound.estimate())
	})
	if len(work) > 0 && len(untold) > 0 {
		// What the pod's own steps left untold lies before the first sign of a container.
		work[0].phases, work[0].container = append(untold, work[0].phases...), ""
	}
	return append(path, work...)
}

// duringWork says that b ends a run inside a stretch of kubelet's work on another container.
func duringWork(b boundary, all []boundary) bool {
	if b.phases[0] != PhaseFailedRun {
		return false
	}
	at := b.bound.estimate()
	return slices.ContainsFunc(all, func(w boundary) bool {
		if w.container == b.container || w.from >= at || w.bound.estimate() <= at {
			return false
		}
		switch w.phases[0] {
		case PhasePullQueue, PhasePull, PhaseContainerCreate, PhaseContainerStart:
			return true
		}
		return false
	})
}

// boundaries is the known steps of a chain, and the phases after the last of them.
func (f *fold) boundaries(c chain) (known []boundary, pending []Phase) {
	known = make([]boundary, 0, len(c.steps))
	from := minInstant
	for _, s := range c.steps {
		for _, phase := range [...]Phase{s.phase, s.also} {
			if phase != "" && !slices.Contains(pending, phase) {
				pending = append(pending, phase)
			}
		}
		if b := f.bounds.find(s.key); b != nil {
			known = append(known, boundary{*b, pending, c.container, from})
			pending, from = nil, b.estimate()
		}
	}
	return known, pending
}

// end says how far start-up has come and where it ends.
func (f *fold) end(path []boundary) (State, bound) {
	if b := f.bounds.find(podMark(MarkReady)); b != nil {
		return StateReady, *b
	}
	if b := f.bounds.find(podMark(MarkSucceeded)); b != nil {
		// Start-up was over when the last container ran; how long it ran is its own business.
		for _, last := range slices.Backward(path) {
			if last.bound.key.mark == MarkRunning {
				return StateSucceeded, last.bound
			}
		}
		return StateSucceeded, *b
	}
	failed, deleted := f.bounds.find(podMark(MarkFailed)), f.bounds.find(podMark(MarkDeleted))
	switch {
	case deleted != nil && (failed == nil || deleted.estimate() < failed.estimate()):
		return StateDeleted, *deleted // that its containers then fail is what deletion does
	case failed != nil:
		return StateFailed, *failed
	}
	return StateStarting, bound{earliest: f.asOf, latest: f.asOf}
}

// spans partitions the time from start to end: every stretch between two neighbouring boundaries is
// one phase. A step that took no time is one too: its error says how sure that is.
func (f *fold) spans(path []boundary, start, end bound, state State) []Span {
	spans := make([]Span, 0, len(path)+1)
	from := start
	to := max(end.estimate(), start.estimate())
	for _, b := range path {
		if b.bound.estimate() > to && b.phases[0] == PhaseFailedRun {
			continue // it still ran at the end
		}
		at := min(b.bound.estimate(), to)
		if at < from.estimate() || at == from.estimate() && b.phases[0] == PhaseKubeletSync {
			continue // overtaken by other work, or a gap of no length
		}
		spans = append(spans, f.span(from, b.bound, at, b.phases, b.container))
		from = b.bound
		if at == to {
			return spans
		}
	}
	if to > from.estimate() {
		phases, container := f.waitingFor()
		if f.e.overflow {
			phases, container = []Phase{PhaseUnattributed}, "" // attempts that were not kept lie in there
		}
		last := f.span(from, end, to, phases, container)
		last.Open = state == StateStarting
		spans = append(spans, last)
	}
	return spans
}

func (f *fold) span(from, to bound, until instant, phases []Phase, container string) Span {
	phase, merged := charge(phases)
	s := Span{
		Phase: phase, Cause: CauseOf(phase), MergedWith: merged, Container: container,
		StartAt: from.estimate().time(), EndAt: until.time(), Error: f.spanError(&from, &to),
	}
	if container != "" {
		s.Attempt = int(to.key.attempt)
	}
	from.origins |= to.origins
	s.Sources = from.sources()
	return s
}

// charge names a stretch that may hold several phases. Neighbours of one cause go under the first one's
// name, and so do kubelet's and the runtime's, who work hand in hand. Where different parties could be
// to blame, nobody is.
func charge(phases []Phase) (name Phase, merged []Phase) {
	party := func(p Phase) Cause {
		if cause := CauseOf(p); cause != CauseRuntime {
			return cause
		}
		return CauseKubelet
	}
	for _, p := range phases {
		if party(p) != party(phases[0]) {
			return PhaseUnattributed, phases
		}
	}
	return phases[0], phases[1:]
}

// waitingFor is what a pod is in whose next mark has not come: the first step without evidence, of the
// first container that is not done.
func (f *fold) waitingFor() ([]Phase, string) {
	if f.untouched() {
		return f.nextStep(f.pod), ""
	}
	for i, c := range f.containers {
		if phases := f.nextStep(f.chains[i]); phases != nil {
			return phases, c.Name
		}
		if c.Kind == KindInit && f.crashed(c) || c.WaitingReason == "CrashLoopBackOff" {
			return []Phase{PhaseCrashBackoff}, c.Name
		}
	}
	for _, c := range f.containers {
		switch {
		case c.Kind == KindInit || c.Ready:
		case !c.Started:
			return []Phase{probePhase(c.StartupProbe, PhaseStartupProbe)}, c.Name
		default:
			return []Phase{probePhase(c.ReadinessProbe, PhaseReadinessProbe)}, c.Name
		}
	}
	if f.e.pod.ReadinessGates {
		return []Phase{PhaseReadinessGates}, ""
	}
	return []Phase{PhaseKubeletSync}, ""
}

// untouched says that no container shows any sign of work yet.
func (f *fold) untouched() bool {
	return !slices.ContainsFunc(f.bounds, func(b bound) bool { return b.key.container != podWide }) &&
		f.bounds.find(markKey{podWide, f.lastAttempt(podWide, MarkSandboxRunning), MarkSandboxRunning}) == nil
}

// nextStep is the phase of the first step after the last known one; none when the last one is known.
func (f *fold) nextStep(c chain) []Phase {
	next := 0
	for i, s := range c.steps {
		if f.bounds.find(s.key) != nil {
			next = i + 1
		}
	}
	if next == len(c.steps) {
		return nil
	}
	phases := []Phase{c.steps[next].phase}
	if c.steps[next].key.mark == MarkSandboxBegun && len(f.e.sandboxes) > 0 {
		return phases // kubelet tries again because of what made the last one fail
	}
	for _, s := range c.steps[next+1:] {
		if !toldInRetrospect(c.steps[next].key.mark, s.key.mark) {
			break
		}
		phases = append(phases, s.phase)
	}
	return phases
}

// toldInRetrospect says that nobody tells of the first mark before the second has come, so that while
// both are unknown the pod may be on its way to either: a runtime shows a sandbox once it runs, and
// the answer to a pull is what tells when it began.
func toldInRetrospect(first, second Mark) bool {
	switch first {
	case MarkSandboxBegun:
		return second == MarkNetworkReady || second == MarkSandboxRunning
	case MarkNetworkReady:
		return second == MarkSandboxRunning
	case MarkPullStarted:
		return second == MarkPullFinished || second == MarkPullFailed
	}
	return false
}

// crashed says that the container's latest run ended, and not well.
func (f *fold) crashed(c Container) bool {
	index := f.index(c.Name)
	last := f.lastAttempt(index, MarkContainerCreated, MarkRunning, MarkFinished)
	code, known := f.e.containers[index].exitCode(int(last))
	return known && code != 0
}

func (f *fold) failed() bool { return f.bounds.find(podMark(MarkFailed)) != nil }
