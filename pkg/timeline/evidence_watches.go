package timeline

import "time"

// watchPoint holds the time and the field Order of one EventsWatched or EventsLost observation.
type watchPoint struct {
	order int64 // EventsWatched.Order or EventsLost.Order
	at    instant
}

// isAfter reports whether this point is later than another point. isAfter compares the field Order and not the times,
// because the agent's clock might have been set back between the two points. If a point has no Order, isAfter compares
// the times.
func (p watchPoint) isAfter(o watchPoint) bool {
	if p.order != 0 && o.order != 0 {
		return p.order > o.order
	}
	return p.at > o.at
}

// applyWatched records the period that an Event watch covers. The period begins at EventsWatched.Since. If the agent
// missed no Events between two watches, the later watch also covers the period of the earlier watch. So the period of
// the latest watch alone shows which Events the agent might have missed.
func (e *Evidence) applyWatched(o EventsWatched) {
	var since instant
	if !o.Since.IsZero() {
		since = at(o.Since)
	}
	if first := e.watchFirstOpened; first.IsZero() || o.OpenedAt.Before(first) ||
		o.OpenedAt.Equal(first) && since < e.watchFirstSince {
		e.watchFirstOpened, e.watchFirstSince, e.changed = o.OpenedAt, since, true
	}
	switch opened := (watchPoint{o.Order, at(o.OpenedAt)}); {
	case opened.isAfter(e.watchLastOpened):
		e.watchLastOpened, e.watchSince, e.historyLimited, e.changed = opened, since, o.Limited, true
	case opened == e.watchLastOpened && since < e.watchSince:
		e.watchSince, e.historyLimited, e.changed = since, o.Limited, true
	}
}

// applyEventsLost records that no Event watch covers the pod.
func (e *Evidence) applyEventsLost(o EventsLost) {
	last := &e.watchLost
	if o.Limited {
		last = &e.watchLimited
	}
	if lost := (watchPoint{o.Order, at(o.ArrivedAt)}); lost.isAfter(*last) {
		*last, e.changed = lost, true
	}
}

// mayHaveMissedEvents reports whether the agent might have missed Events before the instant "by". If no watch was ever
// open, the result is true. If the agent lost the latest watch before "by" and did not reopen it, the result is also
// true. If the agent's clock was set back while the lost watch was open, mayHaveMissedEvents ignores the time of the
// loss, and returns true for any "by". For Events from before the latest watch, see eventsMissedUntil.
func (e *Evidence) mayHaveMissedEvents(by instant) bool {
	if e.watchFirstOpened.IsZero() {
		return true
	}
	setBack := e.watchLost.at < e.watchLastOpened.at
	return e.watchLost.isAfter(e.watchLastOpened) && (setBack || e.watchLost.at < by)
}

// eventsMissedUntil returns the start of the period that the latest Event watch covers. The agent might have missed
// Events from before this period. The kubelet creates no Event about a pod before it picks up the pod. So if the period
// covers the whole time since the pickup, eventsMissedUntil returns zero.
func (e *Evidence) eventsMissedUntil() instant {
	if e.watchSince == 0 || e.watchSince <= e.acknowledgedSince() {
		return 0
	}
	return e.watchSince
}

// watchesLimited reports whether the agent might have missed Events because of its limits for Event watches (see
// EventsLost.Limited). The API server might have deleted the missed Events before the next watch opened.
func (e *Evidence) watchesLimited() bool {
	return e.watchLimited.isAfter(e.watchLastOpened) ||
		e.watchLimited.at != 0 && e.eventsMissedUntil() > e.watchLimited.at
}

// eventLifetime is shorter than the time after which the API server usually deletes an Event (--event-ttl, 1 h by
// default).
const eventLifetime = 50 * time.Minute

// mayMissFirstEvents reports whether the agent might have missed the kubelet's first Events about the pod. The API
// server might have deleted these Events before the watch opened. So the agent can miss the first Events even if the
// watch covers the whole time since the kubelet picked up the pod.
func (e *Evidence) mayMissFirstEvents() bool {
	switch {
	case e.watchFirstOpened.IsZero():
		return !e.firstSeen.live
	case e.watchFirstSince != 0 && e.watchFirstSince > e.acknowledgedSince():
		return true
	}
	return !e.firstSeen.live && e.watchFirstOpened.Sub(e.pod.reachedNodeAt()) > eventLifetime
}
