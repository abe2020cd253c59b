package timeline

import (
	"cmp"
	"slices"
)

// boundary is a known mark on the path, with the phases that lie between the mark before it and
// itself: one, or several that evidence cannot tell apart.
type boundary struct {
	bound      *bound
	phases     []Phase
	container  string
	attempt    uint16
	from       instant // the mark before it in its own chain
	concurrent bool    // it comes to pass beside the kubelet's work
}

// path is every known boundary from scheduling to readiness in the order of time. A container's
// boundaries keep their own phases, so that work on one container during another's back-off is
// charged to the work; a container that ends while the kubelet works on another is no boundary at all,
// because the kubelet goes on with that work first.
func (f *fold) path() []boundary {
	path, pending := f.appendBoundaries(make([]boundary, 0, len(f.bounds)), f.pod)
	first := len(path)
	for _, chains := range [...][]chain{f.sandboxes, f.chains, {f.ready}} {
		for _, c := range chains {
			path, _ = f.appendBoundaries(path, c)
		}
	}
	work := path[first:]
	if slices.ContainsFunc(work, boundary.mayBeDuringWork) {
		all := slices.Clone(work)
		work = slices.DeleteFunc(work, func(b boundary) bool { return !f.awaitsStart(&b) && b.duringWork(all) })
	}
	slices.SortStableFunc(work, func(a, b boundary) int {
		return cmp.Compare(a.bound.estimate(), b.bound.estimate())
	})
	f.shareUnordered(work)
	if len(work) > 0 && len(pending) > 0 {
		// What the pod's own steps left untold lies before the first sign of a container.
		work[0].phases, work[0].container = union(pending, work[0].phases), ""
	}
	return path[1 : first+len(work)] // the first is creation itself
}

// shareUnordered charges what lies before a mark that is known to a second only, and before marks of other main
// containers that may as well have come first, to all of them: in which order the kubelet worked on them nobody
// tells.
func (f *fold) shareUnordered(work []boundary) {
	vague := func(b *boundary) bool { return b.bound.latest-b.bound.earliest > 2*eventSlack && f.ofMain(b) }
	if !slices.ContainsFunc(work, func(b boundary) bool { return vague(&b) }) {
		return
	}
	own := slices.Clone(work) // before anything is shared
	for i := range own {
		if !vague(&own[i]) {
			continue
		}
		for j := range own {
			if f.ofMain(&own[j]) && own[j].bound.overlaps(own[i].bound) && own[j].container != own[i].container {
				work[i].share(own[j].phases)
				work[j].share(own[i].phases)
			}
		}
	}
}

// share adds phases that may lie before the boundary as well.
func (b *boundary) share(phases []Phase) {
	for _, p := range phases {
		if !slices.Contains(b.phases, p) {
			b.phases = append(slices.Clip(b.phases), p)
		}
	}
}

// ofMain says that a boundary is the kubelet's work on a main container.
func (f *fold) ofMain(b *boundary) bool {
	return !b.concurrent && b.bound.key.container != podWide && slices.ContainsFunc(f.containers, func(c *Container) bool {
		return c.Kind == KindMain && c.Name == b.container
	})
}

// awaitsStart says that a boundary ends a run of a sidecar whose startup probe has not succeeded yet: the kubelet works on no container
// after it until then.
func (f *fold) awaitsStart(b *boundary) bool {
	return b.phases[0] == PhaseFailedRun && slices.ContainsFunc(f.containers, func(c *Container) bool {
		return c.Kind == KindSidecar && c.StartupProbe && c.Name == b.container
	})
}

// mayBeDuringWork says that it ends what goes on without the kubelet.
func (b boundary) mayBeDuringWork() bool { return b.phases[0] == PhaseFailedRun || b.concurrent }

// duringWork says that b ends a run inside a stretch of the kubelet's work on another container.
func (b boundary) duringWork(all []boundary) bool {
	if !b.mayBeDuringWork() {
		return false
	}
	at := b.bound.estimate()
	return slices.ContainsFunc(all, func(w boundary) bool {
		if w.container == b.container || w.from >= at || w.bound.estimate() <= at {
			return false
		}
		return slices.ContainsFunc(w.phases, func(p Phase) bool {
			return p == PhasePullQueue || p == PhasePull || p == PhaseUnpack || p == PhaseContainerCreate || p == PhaseContainerStart
		})
	})
}

// addPhase adds a phase to those since first, unless it is one of them or none.
func (f *fold) addPhase(first int, phase Phase) {
	if phase != "" && !slices.Contains(f.phases[first:], phase) {
		f.phases = append(f.phases, phase)
	}
}

// appendBoundaries adds the known steps of a chain; pending are the phases after the last of them.
func (f *fold) appendBoundaries(known []boundary, c chain) (all []boundary, pending []Phase) {
	from := minInstant
	first := len(f.phases)
	for _, s := range c.steps {
		f.addPhase(first, s.phase)
		for _, phase := range s.also {
			f.addPhase(first, phase)
		}
		if b := f.bounds.find(s.key); b != nil && !s.undated {
			container := c.container
			phases := slices.Clip(f.phases[first:])
			if s.previous && len(phases) == 1 {
				container = f.before(c.container).Name
			}
			attempt := max(s.key.attempt, c.attempt)
			known = append(known, boundary{bound: b, phases: phases, container: container, attempt: attempt, from: from, concurrent: c.concurrent(s)})
			first, from = len(f.phases), b.estimate()
		}
	}
	return known, slices.Clip(f.phases[first:])
}
