package timeline

import "slices"

// constraintsOn returns the constraints on a milestone, the most trusted origin first.
func (e *Evidence) constraintsOn(k milestoneKey) []constraint {
	first := searchConstraints(e.constraints, k)
	after := first
	for after < len(e.constraints) && e.constraints[after].key == k {
		after++
	}
	return e.constraints[first:after]
}

// latestTime returns the latest possible time of the milestone. If several constraints set an upper bound, the earliest
// upper bound counts. If no constraint sets an upper bound, the second result is false.
func (e *Evidence) latestTime(k milestoneKey) (instant, bool) {
	latest := maxInstant
	for _, c := range e.constraintsOn(k) {
		latest = min(latest, c.latest)
	}
	return latest, latest != maxInstant
}

// earliestTime returns the earliest possible time of the milestone. If several constraints set a lower bound, the
// latest lower bound counts. If no constraint sets a lower bound, the result is minInstant.
func (e *Evidence) earliestTime(k milestoneKey) instant {
	earliest := minInstant
	for _, c := range e.constraintsOn(k) {
		earliest = max(earliest, c.earliest)
	}
	return earliest
}

// arrivalOf returns the time at which a pod object first reported the milestone.
func (e *Evidence) arrivalOf(k milestoneKey) (instant, bool) {
	c, found := findArrival(e.constraints, k)
	return c.latest, found
}

// runtimeEarliest returns the earliest possible time of a milestone according to the runtime. If the runtime reports no
// time for the milestone, the result is minInstant.
func (e *Evidence) runtimeEarliest(k milestoneKey) instant {
	since := minInstant
	for _, c := range e.constraintsOn(k) {
		if c.origin <= originStore {
			since = max(since, c.earliest)
		}
	}
	return since
}

func (e *Evidence) hasRuntimeConstraint(k milestoneKey) bool {
	return slices.ContainsFunc(e.constraintsOn(k), func(c constraint) bool { return c.origin == originRuntime })
}

// sandboxRan reports whether there is evidence that a sandbox ran. Evidence about a container also counts, because a
// container runs in a sandbox.
func (e *Evidence) sandboxRan() bool {
	return slices.ContainsFunc(e.constraints, func(c constraint) bool {
		return c.key.container != podWide || c.key.milestone == MilestoneSandboxRunning
	})
}

// sandboxMayHaveFailed reports whether an earlier sandbox might have failed although no evidence shows the failure. The
// argument "begun" is the time at which the known sandbox began.
func (e *Evidence) sandboxMayHaveFailed(begun *bound) bool {
	acknowledged, known := e.latestTime(podMilestone(MilestoneAcknowledged))
	if !known || begun == nil || begun.latest.sub(acknowledged) <= sandboxPatience {
		return false
	}
	if e.mayHaveMissedEvents(begun.latest) {
		return true
	}
	// After a failed sandbox, the kubelet waits at least podRetryLeast before it requests the next sandbox. If the
	// known sandbox began within podRetryLeast after the kubelet picked up the pod, no earlier sandbox can have failed.
	return e.eventsMissedUntil() != 0 && begun.latest.sub(e.acknowledgedSince()) >= podRetryLeast
}

// acknowledgedSince returns the earliest possible time at which the kubelet picked up the pod. If this time is unknown,
// the result is minInstant.
func (e *Evidence) acknowledgedSince() instant {
	return e.earliestTime(podMilestone(MilestoneAcknowledged))
}
