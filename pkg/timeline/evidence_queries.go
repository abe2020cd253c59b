package timeline

import "slices"

// latestTime returns the earliest upper bound that any constraint sets for the milestone. The second result is false if
// no constraint sets an upper bound.
func (e *Evidence) latestTime(k milestoneKey) (instant, bool) {
	latest := maxInstant
	for _, c := range e.constraints[searchConstraints(e.constraints, k):] {
		if c.key != k {
			break
		}
		latest = min(latest, c.latest)
	}
	return latest, latest != maxInstant
}

// arrivalOf returns the time at which a pod object first reported the milestone.
func (e *Evidence) arrivalOf(k milestoneKey) (instant, bool) {
	i, found := slices.BinarySearchFunc(e.constraints, constraint{key: k, origin: originArrival}, compareConstraints)
	if !found {
		return 0, false
	}
	return e.constraints[i].latest, true
}

// runtimeEarliest returns the earliest possible time of a milestone according to the runtime, or minInstant if
// the runtime does not date the milestone.
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

// sandboxRan reports whether there is evidence that a sandbox ran. Evidence about a container counts, because a
// container runs in a sandbox.
func (e *Evidence) sandboxRan() bool {
	return slices.ContainsFunc(e.constraints, func(c constraint) bool {
		return c.key.container != podWide || c.key.milestone == MilestoneSandboxRunning
	})
}

// sandboxMayHaveFailed reports whether earlier sandboxes can have failed without evidence. The argument begun is the
// beginning of the known sandbox.
func (e *Evidence) sandboxMayHaveFailed(begun *bound) bool {
	acknowledged, known := e.latestTime(podMilestone(MilestoneAcknowledged))
	return known && begun != nil && e.mayHaveMissedEvents(begun.latest) &&
		begun.latest-acknowledged > instant(sandboxPatience)
}

// mayHaveMissedEvents reports whether the agent can have missed Events until an instant. The agent can have missed
// Events if no watch was open, or if a watch was lost and not reopened.
func (e *Evidence) mayHaveMissedEvents(by instant) bool {
	return e.watchFirstOpened.IsZero() || e.watchLost > e.watchLastOpened && e.watchLost < by
}
