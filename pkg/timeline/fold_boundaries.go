package timeline

import (
	"cmp"
	"slices"
)

// boundary is a known milestone on the path from scheduling to readiness, with the phase that ends at this milestone.
// If the evidence cannot separate several phases before the milestone, the boundary lists all these phases.
type boundary struct {
	bound      *bound
	phases     []Phase
	container  string
	attempt    uint16
	from       instant // the estimate of the previous known milestone in the same chain (list of steps)
	fromLatest instant // the latest possible time of this previous milestone; before probes, of the container's start
	concurrent bool    // the step before the milestone happens in parallel with the kubelet's work
	// readyAt is the time at which a container was ready during the run that ends at the boundary, or nil. From readyAt
	// on, the pod waited for otherWait, and not for this container. If otherWait is nil, nothing else delayed the pod.
	readyAt   *bound
	otherWait *phaseCandidates
}

// boundaries returns the known boundaries from scheduling to readiness, in order of time. The phases of a boundary come
// from the chain that contains the milestone. A chain holds the steps of the pod or of one container. If the kubelet
// works on one container during another container's back-off, the phases show this work, and not the back-off. If a
// container ends while the kubelet works on another container, the end is not a boundary, because the kubelet finishes
// the work on the other container first.
func (f *fold) boundaries() []boundary {
	path, pending := f.appendBoundaries(make([]boundary, 0, len(f.bounds)), f.pod)
	first := len(path)
	for _, chains := range [...][]chain{f.sandboxes, f.chains, f.ready} {
		for _, c := range chains {
			path, _ = f.appendBoundaries(path, c)
		}
	}
	work := slices.DeleteFunc(path[first:], f.delaysNothing)
	if slices.ContainsFunc(work, boundary.needsNoKubelet) {
		all := slices.Clone(work)
		work = slices.DeleteFunc(work, func(b boundary) bool {
			if f.awaitsStart(&b) {
				return b.isDuringOtherWork(slices.DeleteFunc(slices.Clone(all), boundary.isFirst))
			}
			return b.isDuringOtherWork(all) || f.isProbeBeforeMain(&b) || f.nextMainBeganBeforeRestart(&b, all)
		})
		for i := range work {
			work[i].addOtherWork(all)
		}
	}
	// If two milestones have the same estimate and the same latest time, the milestone that could have happened earlier
	// comes first. For example, the kubelet starts a container before it requests the image of a volume again. If two
	// intervals are equal, volumeOrder can still order the milestones.
	known := f.volumeOrder()
	slices.SortStableFunc(work, func(a, b boundary) int {
		return cmp.Or(cmp.Compare(a.bound.estimate(), b.bound.estimate()), cmp.Compare(a.bound.latest, b.bound.latest),
			cmp.Compare(a.bound.earliest, b.bound.earliest), compareOrder(known, a.bound, b.bound))
	})
	for i := range work {
		if work[i].readyAt != nil {
			work[i].otherWait = f.waitBesides(&work[i], work[i+1:])
		}
	}
	f.shareUnordered(work)
	if len(work) > 0 && len(pending) > 0 {
		// The last steps before the work on containers can lack evidence. These steps happened before the first
		// evidence about a container, so the first boundary in "work" gets their phases.
		work[0].phases, work[0].container = uniquePhases(pending, work[0].phases), ""
	}
	return path[1 : first+len(work)] // path[0] is the creation of the pod
}

// shareUnordered handles main containers whose milestones have wide intervals, for example because timestamps are
// truncated to seconds. If the milestones of two containers have overlapping intervals, no evidence shows on which
// container the kubelet worked first. So shareUnordered adds the phases of each of these two boundaries to the other
// boundary. The pulls of an image volume after a failed pull also have no fixed order relative to the work on main
// containers.
func (f *fold) shareUnordered(work []boundary) {
	unordered := func(b *boundary) bool { return f.isOfMainContainer(b) || f.isLaterPull(b) }
	vague := func(b *boundary) bool {
		length := instant(b.bound.latest.sub(b.bound.earliest))
		return length > responseDelay && unordered(b) || length > eventSlack && f.isLaterPull(b)
	}
	if !slices.ContainsFunc(work, func(b boundary) bool { return vague(&b) || b.isTruncatedStart() }) {
		return
	}
	own := slices.Clone(work) // a copy, because the loop adds phases to the boundaries
	isUnordered := make([]bool, len(own))
	for i := range own {
		isUnordered[i] = unordered(&own[i])
	}
	for i := range own {
		short := !vague(&own[i])
		if short && !(own[i].isTruncatedStart() && isUnordered[i]) {
			continue
		}
		for j := range own {
			if short && own[i].from >= own[j].bound.estimate() {
				continue // the kubelet began to work on the container of own[i] after the milestone of own[j]
			}
			if isUnordered[j] && own[j].bound.overlapsWith(own[i].bound) &&
				own[j].container != own[i].container {
				work[i].addCandidates(own[j].phases)
				work[j].addCandidates(own[i].phases)
			}
		}
	}
}

// isTruncatedStart reports whether only the kubelet's status shows when a container began to run. The timestamp is
// truncated to seconds. The interval can still be short, because the status can arrive soon after the start.
func (b *boundary) isTruncatedStart() bool {
	return b.bound.key.milestone == MilestoneRunning && b.bound.earliest < b.bound.latest &&
		b.bound.origins.has(originStatus) && !b.bound.origins.has(originRuntime)
}

// addCandidates adds further possible phases of the time before the milestone of the boundary b.
func (b *boundary) addCandidates(phases []Phase) {
	b.phases = appendMissing(slices.Clip(b.phases), phases)
	if b.otherWait != nil {
		b.otherWait.add(phases...)
	}
}

// isOfMainContainer reports whether the milestone of the boundary b is part of the kubelet's work on a main container.
func (f *fold) isOfMainContainer(b *boundary) bool {
	return !b.concurrent && b.bound.key.container != podWide &&
		slices.ContainsFunc(f.containers, func(c *Container) bool {
			return c.Kind == KindMain && c.Name == b.container
		})
}

// awaitsStart reports whether the milestone of the boundary b is the end of a sidecar's run, and the sidecar's startup
// probe had not succeeded before. Until the probe succeeds, the kubelet does not work on later containers. If a known
// milestone shows that the kubelet worked on a later container, the probe had succeeded, but the agent missed the
// success. In this case, the method "boundaries" can leave out the end of the run.
func (f *fold) awaitsStart(b *boundary) bool {
	return b.phases[0] == PhaseFailedRun && slices.ContainsFunc(f.containers, func(c *Container) bool {
		return c.Kind == KindSidecar && c.StartupProbe && c.Name == b.container
	})
}

// isFirst reports whether the milestone of the boundary b is the first known milestone of its chain (list of steps). No
// evidence shows when the step before the first known milestone began.
func (b boundary) isFirst() bool { return b.from == minInstant }

// needsNoKubelet reports whether the step that ends at the milestone of b happens without the kubelet.
func (b boundary) needsNoKubelet() bool { return b.phases[0] == PhaseFailedRun || b.concurrent }

// isDuringOtherWork reports whether the kubelet worked on another container at the time of the milestone of b.
// isDuringOtherWork returns false if the step that ends at this milestone needs the kubelet.
func (b boundary) isDuringOtherWork(all []boundary) bool {
	if !b.needsNoKubelet() {
		return false
	}
	next := b.nextWork(all)
	return slices.ContainsFunc(all, func(w boundary) bool {
		return w.mayIncludeWorkAt(&b) && !w.mayWaitAt(&b, next)
	})
}

// mayIncludeWorkAt reports whether the step that ends at the milestone of w includes work of the kubelet on another
// container than that of b, and the milestone of b is between the beginning and the end of the step.
func (w *boundary) mayIncludeWorkAt(b *boundary) bool {
	at := b.bound.estimate()
	if w.container == b.container || w.from >= at || w.bound.estimate() <= at {
		return false
	}
	return slices.ContainsFunc(w.phases, func(p Phase) bool {
		return p == PhasePullQueue || p == PhasePull || p == PhaseUnpack || p == PhaseContainerCreate ||
			p == PhaseContainerStart
	})
}

// mayWaitAt examines a step that includes a back-off and a pull, because no Event shows when the pull began. It reports
// whether the kubelet might have waited for the end of this back-off before the milestone of b. There are two cases:
//   - b is the end of a failed run, and the kubelet created or started the container's next run before the end of the
//     step. The argument "nextWork" is the time of this work: see nextWork. During a pull, the kubelet does no other
//     work.
//   - b is the end of a crash back-off.
func (w *boundary) mayWaitAt(b *boundary, nextWork instant) bool {
	if w.phases[0] != PhaseImageBackoff {
		return false
	}
	return b.phases[0] == PhaseCrashBackoff || b.phases[0] == PhaseFailedRun && nextWork < w.bound.estimate()
}

// nextWork returns the time of the first milestone after b at which the kubelet worked on the same container again. If
// no such milestone is known, or if b is not the end of a failed run, nextWork returns maxInstant.
func (b *boundary) nextWork(all []boundary) instant {
	next := maxInstant
	if b.phases[0] != PhaseFailedRun {
		return next
	}
	for i := range all {
		w := &all[i]
		if at := w.bound.estimate(); w.container == b.container && at > b.bound.estimate() && at < next &&
			!w.needsNoKubelet() {
			next = at
		}
	}
	return next
}

// addOtherWork adds the phases of steps for which mayWaitAt is true, because the kubelet might also have worked on
// another container during the run or the crash back-off.
func (b *boundary) addOtherWork(all []boundary) {
	next := b.nextWork(all)
	for i := range all {
		if w := &all[i]; w.mayWaitAt(b, next) && w.mayIncludeWorkAt(b) {
			b.addCandidates(w.phases)
		}
	}
}

// isProbeBeforeMain reports whether a probe of a restarted sidecar succeeded while at least one main container had not
// started yet. After a sidecar restarts, the kubelet starts the main containers without waiting for the sidecar's
// probe.
func (f *fold) isProbeBeforeMain(b *boundary) bool {
	return b.concurrent && slices.ContainsFunc(f.containers, func(c *Container) bool {
		return c.Kind == KindSidecar && c.Name == b.container
	}) && slices.ContainsFunc(f.containers, func(c *Container) bool {
		index := f.index(c.Name)
		ran := f.bounds.find(milestoneKey{index, f.firstAttempt(index, MilestoneRunning, 0), MilestoneRunning})
		return c.Kind == KindMain && (ran == nil || ran.estimate() > b.bound.estimate())
	})
}

// nextMainBeganBeforeRestart examines the end of a main container's first run. It reports whether the kubelet began to
// work on a later main container after this end, and before the container's second run began. The kubelet starts all
// main containers in one pass, one after the other, and does not wait until a container exits. But the kubelet waits
// for a post-start hook, so nextMainBeganBeforeRestart returns false for a container with a post-start hook.
func (f *fold) nextMainBeganBeforeRestart(b *boundary, all []boundary) bool {
	if b.phases[0] != PhaseFailedRun || b.attempt > 0 || !f.isOfMainContainer(b) {
		return false
	}
	position := func(name string) int {
		return slices.IndexFunc(f.containers, func(c *Container) bool { return c.Name == name })
	}
	own := position(b.container)
	if f.containers[own].PostStartHook {
		return false
	}
	ended, nextRun := b.bound.estimate(), maxInstant
	for _, w := range all {
		if at := w.bound.estimate(); w.container == b.container && at > ended {
			nextRun = min(nextRun, at)
		}
	}
	return slices.ContainsFunc(all, func(w boundary) bool {
		at := w.bound.estimate()
		return w.from == minInstant && w.bound.key.attempt == 0 && f.isOfMainContainer(&w) &&
			position(w.container) > own && at > ended && at < nextRun
	})
}

// addPhase adds a phase to f.phases. addPhase ignores an empty phase, and a phase that f.phases[first:] already
// contains.
func (f *fold) addPhase(first int, phase Phase) {
	if phase != "" && !slices.Contains(f.phases[first:], phase) {
		f.phases = append(f.phases, phase)
	}
}

// appendBoundaries adds a boundary (a known milestone with the phases before it) for each step of the chain c whose
// milestone is known, except undated steps. The result "pending" holds the phases after the last boundary.
func (f *fold) appendBoundaries(known []boundary, c chain) (all []boundary, pending []Phase) {
	from, fromLatest := minInstant, minInstant
	if c.probes && c.container != "" {
		if ran := f.bounds.find(milestoneKey{f.index(c.container), c.attempt, MilestoneRunning}); ran != nil {
			fromLatest = ran.latest // the probes begin when the container runs
		}
	}
	first := len(f.phases)
	for _, s := range c.steps {
		f.addPhase(first, s.phase)
		for _, phase := range s.also {
			f.addPhase(first, phase)
		}
		if b := f.bounds.find(s.key); b != nil && !s.undated {
			container := c.container
			phases := slices.Clip(f.phases[first:])
			attempt := c.attempt
			if s.key.container != podWide {
				attempt = max(attempt, s.key.attempt)
			}
			if s.belongsToPrevious(phases) {
				container, attempt = f.containerBefore(c.container).Name, 0
				if ran := f.lastStart(f.index(container), b.estimate()); ran != nil {
					attempt = ran.key.attempt
				}
			}
			known = append(known, boundary{bound: b, phases: phases, container: container, attempt: attempt, from: from,
				fromLatest: fromLatest, concurrent: c.isConcurrent(s), readyAt: f.readyDuring(s.key)})
			first, from, fromLatest = len(f.phases), b.estimate(), b.latest
		}
	}
	return known, slices.Clip(f.phases[first:])
}
