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
	if !known || begun == nil || begun.latest-acknowledged <= instant(sandboxPatience) {
		return false
	}
	if e.mayHaveMissedEvents(begun.latest) {
		return true
	}
	// The kubelet waits at least podRetryLeast after a failed sandbox. So an Event about the failure is older than the
	// known sandbox by at least this wait.
	return e.eventsMissedUntil() != 0 && begun.latest-e.acknowledgedSince() >= instant(podRetryLeast)
}

// mayHaveMissedEvents reports whether the agent can have missed Events until an instant. The agent can have missed
// Events if no watch was ever open, or if the agent lost a watch and did not reopen it. eventsMissedUntil handles
// missed Events from before the latest watch.
func (e *Evidence) mayHaveMissedEvents(by instant) bool {
	return e.watchFirstOpened.IsZero() || e.watchLost > e.watchLastOpened && e.watchLost < by
}

// eventsMissedUntil returns the instant before which the agent can have missed Events although a watch is open.
// eventsMissedUntil returns zero if the watch has delivered all Events since the kubelet's pickup, because the kubelet
// creates no Event about a pod before its pickup.
func (e *Evidence) eventsMissedUntil() instant {
	if e.watchSince == 0 || e.watchSince <= e.acknowledgedSince() {
		return 0
	}
	return e.watchSince
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

// applyWatched records the period that an Event watch covers. The latest watch decides which Events can be missing. The
// field Since of this watch also covers earlier watches, if no Events are missing between the watches.
func (e *Evidence) applyWatched(o EventsWatched) {
	if e.watchFirstOpened.IsZero() || o.OpenedAt.Before(e.watchFirstOpened) {
		e.watchFirstOpened, e.changed = o.OpenedAt, true
	}
	var since instant
	if !o.Since.IsZero() {
		since = at(o.Since)
	}
	switch opened := at(o.OpenedAt); {
	case opened > e.watchLastOpened:
		e.watchLastOpened, e.watchSince, e.changed = opened, since, true
	case opened == e.watchLastOpened && since < e.watchSince:
		e.watchSince, e.changed = since, true
	}
}

// applyEventsLost records that no Event watch covers the pod.
func (e *Evidence) applyEventsLost(o EventsLost) {
	last := &e.watchLost
	if o.Limited {
		last = &e.watchLimited
	}
	if lost := at(o.ArrivedAt); lost > *last {
		*last, e.changed = lost, true
	}
}

// watchesLimited reports whether the agent can have missed Events because the number of open Event watches is limited.
// Before the next watch opened, the API server can have dropped these Events.
func (e *Evidence) watchesLimited() bool {
	return e.watchLimited > e.watchLastOpened || e.watchLimited != 0 && e.eventsMissedUntil() > e.watchLimited
}
