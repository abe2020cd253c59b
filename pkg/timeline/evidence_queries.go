package timeline

import "slices"

// latest is the earliest upper bound that any constraint sets for the milestone.
func (e *Evidence) latest(k milestoneKey) (instant, bool) {
	latest := maxInstant
	for _, c := range e.constraints[searchConstraints(e.constraints, k):] {
		if c.key != k {
			break
		}
		latest = min(latest, c.latest)
	}
	return latest, latest != maxInstant
}

// arrivalOf is when the pod object first reported the milestone.
func (e *Evidence) arrivalOf(k milestoneKey) (instant, bool) {
	i, found := slices.BinarySearchFunc(e.constraints, constraint{key: k, origin: originArrival}, compareConstraints)
	if !found {
		return 0, false
	}
	return e.constraints[i].latest, true
}

// runtimeEarliest is the earliest instant of a milestone according to the runtime; minInstant if the runtime does not
// date it.
func (e *Evidence) runtimeEarliest(k milestoneKey) instant {
	since := minInstant
	for _, c := range e.constraints[searchConstraints(e.constraints, k):] {
		if c.key != k || c.origin > originStore {
			break
		}
		since = max(since, c.earliest)
	}
	return since
}

func (e *Evidence) hasRuntimeConstraint(k milestoneKey) bool {
	for _, c := range e.constraints {
		if c.key == k && c.origin == originRuntime {
			return true
		}
	}
	return false
}

// sandboxRan reports whether there is evidence of a sandbox that ran, including that of a container in it.
func (e *Evidence) sandboxRan() bool {
	return slices.ContainsFunc(e.constraints, func(c constraint) bool {
		return c.key.container != podWide || c.key.milestone == MilestoneSandboxRunning
	})
}

// sandboxMayHaveFailed reports whether sandboxes may have failed, without evidence, before the one that the argument
// begun is about.
func (e *Evidence) sandboxMayHaveFailed(begun *bound) bool {
	acknowledged, known := e.latest(podMilestone(MilestoneAcknowledged))
	return known && begun != nil && e.mayHaveMissedEvents(begun.latest) &&
		begun.latest-acknowledged > instant(sandboxPatience)
}

// mayHaveMissedEvents reports whether Events may have been missed until an instant: no watch was open, or it was
// lost and not reopened.
func (e *Evidence) mayHaveMissedEvents(by instant) bool {
	return e.watchFirstOpened.IsZero() || e.watchLost > e.watchLastOpened && e.watchLost < by
}
