package timeline

import "slices"

// latestTime returns the latest possible time of the milestone: the earliest upper bound of all constraints. The second
// result is false if no constraint sets an upper bound.
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

// earliestTime returns the earliest possible time of the milestone: the latest lower bound of all constraints. The
// result is minInstant if no constraint sets a lower bound.
func (e *Evidence) earliestTime(k milestoneKey) instant {
	earliest := minInstant
	for _, c := range e.constraints[searchConstraints(e.constraints, k):] {
		if c.key != k {
			break
		}
		earliest = max(earliest, c.earliest)
	}
	return earliest
}

// arrivalOf returns the time at which a pod object first reported the milestone.
func (e *Evidence) arrivalOf(k milestoneKey) (instant, bool) {
	i, found := slices.BinarySearchFunc(e.constraints, constraint{key: k, origin: originArrival}, compareConstraints)
	if !found {
		return 0, false
	}
	return e.constraints[i].latest, true
}

// runtimeEarliest returns the earliest possible time of a milestone according to the runtime, or minInstant if the
// runtime reports no time for the milestone.
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

// sandboxRan reports whether there is evidence that a sandbox ran. sandboxRan also uses evidence about a container,
// because a container runs in a sandbox.
func (e *Evidence) sandboxRan() bool {
	return slices.ContainsFunc(e.constraints, func(c constraint) bool {
		return c.key.container != podWide || c.key.milestone == MilestoneSandboxRunning
	})
}

// sandboxMayHaveFailed reports whether earlier sandboxes might have failed without leaving evidence. The argument
// "begun" is the beginning of the known sandbox.
func (e *Evidence) sandboxMayHaveFailed(begun *bound) bool {
	acknowledged, known := e.latestTime(podMilestone(MilestoneAcknowledged))
	if !known || begun == nil || begun.latest-acknowledged <= instant(sandboxPatience) {
		return false
	}
	if e.mayHaveMissedEvents(begun.latest) {
		return true
	}
	// After a failed sandbox, the kubelet waits at least podRetryLeast before it requests the next sandbox. So an
	// earlier sandbox can have failed only if the known sandbox began at least podRetryLeast after the kubelet's
	// pickup.
	return e.eventsMissedUntil() != 0 && begun.latest-e.acknowledgedSince() >= instant(podRetryLeast)
}

// acknowledgedSince returns the earliest possible time of the kubelet's pickup, or minInstant if unknown.
func (e *Evidence) acknowledgedSince() instant {
	earliest := minInstant
	k := podMilestone(MilestoneAcknowledged)
	for _, c := range e.constraints[searchConstraints(e.constraints, k):] {
		if c.key != k {
			break
		}
		earliest = max(earliest, c.earliest)
	}
	return earliest
}
