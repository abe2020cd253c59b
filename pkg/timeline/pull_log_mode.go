package timeline

import (
	"time"
)

// This file derives the kubelet's pull settings from the node's pulls. By default, the kubelet pulls one image at a
// time. With serializeImagePulls: false, the kubelet pulls images in parallel. The setting maxParallelImagePulls can
// limit the number of parallel pulls. No API reports the pull settings, so the agent derives the settings from the
// durations that the kubelet reports.
const (
	// loggedError is the maximum error of the times of a logged pull. If a timestamp is truncated to seconds, the
	// maximum error is loggedError plus floorError. The time in an Event's name is up to 100 ms late, or more on a node
	// that lacks CPU.
	loggedError = 250 * time.Millisecond
	floorError  = time.Second
	// leastQueue is the shortest wait that only a queue can explain.
	leastQueue = time.Second
	// On a node with parallel pulls, two pulls count as parallel if they overlap for at least minParallel.
	minParallel = 100 * time.Millisecond
	// staleRequest is the maximum age of a request that counts as a running pull. If a request is older than
	// staleRequest and has no known end, the Event about its end was lost.
	staleRequest = 10 * time.Minute
	// evidenceAge is how long a pull counts as evidence of the kubelet's pull settings. An administrator might have
	// changed the settings since an older pull.
	evidenceAge = time.Hour
)

// recordMode compares the new pull p with the logged pulls, and records the evidence about the node's pull settings.
func (l *PullLog) recordMode(p *loggedPull) {
	for i := range l.pulls {
		o := &l.pulls[i]
		if o.uid == p.uid {
			continue
		}
		at := o.overlapEnd(p)
		o.overlappedUntil, p.overlappedUntil = later(o.overlappedUntil, at), later(p.overlappedUntil, at)
		p.dequeued = p.dequeued || p.dequeuedAfter(o)
		o.dequeued = o.dequeued || o.dequeuedAfter(p)
	}
}

// overlapEnd returns the time when the first of two parallel pulls ended. If the two pulls might not have run in
// parallel, overlapEnd returns the zero time.
func (o *loggedPull) overlapEnd(p *loggedPull) time.Time {
	if o.startUnknown || p.startUnknown || o.overlapWith(p.from, p.until) <= o.error+p.error {
		return time.Time{}
	}
	return earlier(o.until, p.until)
}

// dequeuedAfter reports whether the pull o waited long and began when the pull "before" ended.
func (o *loggedPull) dequeuedAfter(before *loggedPull) bool {
	exact := !o.startUnknown && o.error == loggedError && before.error == loggedError
	waited := !o.requestedAt.IsZero() && o.from.Sub(o.requestedAt) >= leastQueue
	return exact && waited && o.from.Sub(before.until).Abs() <= o.error+before.error
}

// overlapWith returns how long a pull ran within a time span. If the pull did not run within the span, overlapWith
// returns a negative duration.
func (o *loggedPull) overlapWith(from, until time.Time) time.Duration {
	return earlier(o.until, until).Sub(later(o.from, from))
}

// pullMode holds the pull settings that the node's pulls prove. A setting is false if it is unknown.
type pullMode struct {
	queue    bool // the node queues pulls: a pull waited long and began when another pull ended
	parallel bool // the node runs pulls in parallel: two pulls overlapped
	serial   bool // the node runs one pull at a time
}

// modeFor returns the pull settings of the node. The argument p is the pull that the caller examines. The log does not
// need to contain p.
//
// If a pull waited, began when another pull ended, and ran alone, the node runs one pull at a time. On a node with
// parallel pulls, other pulls are still running when a waiting pull begins. modeFor uses the latest evidence, because
// the kubelet's configuration can change.
func (l *PullLog) modeFor(p *Pull, uid string) (m pullMode) {
	own := loggedPull{uid: uid, from: p.StartedAt, until: p.FinishedAt, error: loggedError}
	if p.QueueTimed {
		own.requestedAt = p.RequestedAt
	}
	var alone, parallel time.Time
	for i := range l.pulls {
		o := &l.pulls[i]
		if p.FinishedAt.Sub(o.until) > evidenceAge || !o.from.Before(p.FinishedAt) {
			continue
		}
		parallel = later(parallel, o.overlappedUntil)
		if o.dequeued && o.overlappedUntil.IsZero() {
			alone = later(alone, o.from)
		}
		m.queue = m.queue || o.dequeued
		if o.uid == uid {
			continue
		}
		own.overlappedUntil = later(own.overlappedUntil, own.overlapEnd(o))
		own.dequeued = own.dequeued || own.dequeuedAfter(o)
	}
	if own.dequeued && own.overlappedUntil.IsZero() {
		alone = later(alone, own.from)
	}
	parallel = later(parallel, own.overlappedUntil)
	m.queue = m.queue || own.dequeued
	m.serial = alone.After(parallel.Add(2*loggedError)) && !l.overtookEarlier(p, uid)
	m.parallel = !m.serial && !parallel.IsZero()
	return m
}

// overtookEarlier reports whether another pod's earlier request was still open when the pull p ended. In this case,
// either the two pulls ran in parallel, or the log missed the end of the earlier pull.
func (l *PullLog) overtookEarlier(p *Pull, uid string) bool {
	for _, r := range l.openRequests(p.FinishedAt, uid) {
		if r.from.Add(2 * loggedError).Before(p.RequestedAt) {
			return true
		}
	}
	return false
}
