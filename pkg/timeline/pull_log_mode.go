package timeline

import (
	"time"
)

// This file derives the settings of a node's kubelet from its pulls. By default the kubelet pulls one image after the
// other; with serializeImagePulls: false it pulls all at once, and with maxParallelImagePulls that many. No API reports
// this setting, so the agent derives it from the durations that the kubelet reports.
const (
	// loggedError bounds the error of a logged pull's instants: an Event's name is up to 100 ms late, and later on a
	// node that is short of CPU. floorError is added if only the second is known.
	loggedError = 250 * time.Millisecond
	floorError  = time.Second
	// leastQueue is the shortest wait that only a queue explains.
	leastQueue = time.Second
	// leastBeside is the shortest overlap of two pulls that counts on a node that is known to pull several at once.
	leastBeside = 100 * time.Millisecond
	// staleRequest is the age from which a request without a known end no longer counts as a running pull: its Event
	// was lost.
	staleRequest = 10 * time.Minute
	// evidenceAge is how long a pull is evidence of how the node pulls, because the kubelet's configuration may
	// change.
	evidenceAge = time.Hour
)

// compare records what a new pull, compared with the known pulls, shows about the node.
func (l *PullLog) compare(p *loggedPull) {
	for i := range l.pulls {
		o := &l.pulls[i]
		if o.uid == p.uid {
			continue
		}
		at := o.overlapEnd(p)
		o.overlappedUntil, p.overlappedUntil = latest(o.overlappedUntil, at), latest(p.overlappedUntil, at)
		p.dequeued = p.dequeued || p.dequeuedAfter(o)
		o.dequeued = o.dequeued || o.dequeuedAfter(p)
	}
}

// overlapEnd is the end of the time in which two pulls certainly ran at once; zero if they may not have.
func (o *loggedPull) overlapEnd(p *loggedPull) time.Time {
	if o.startUnknown || p.startUnknown || o.overlap(p.from, p.until) <= o.error+p.error {
		return time.Time{}
	}
	if o.until.Before(p.until) {
		return o.until
	}
	return p.until
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// dequeuedAfter reports whether a pull waited long and began as another one ended.
func (o *loggedPull) dequeuedAfter(before *loggedPull) bool {
	exact := !o.startUnknown && o.error == loggedError && before.error == loggedError
	waited := !o.requestedAt.IsZero() && o.from.Sub(o.requestedAt) >= leastQueue
	return exact && waited && o.from.Sub(before.until).Abs() <= o.error+before.error
}

// overlap is how long a pull ran within a stretch of time; negative if it did not.
func (o *loggedPull) overlap(from, until time.Time) time.Duration {
	if o.from.After(from) {
		from = o.from
	}
	if o.until.Before(until) {
		until = o.until
	}
	return until.Sub(from)
}

// pullMode is how a node pulls, as far as its pulls show it. The zero value means unknown.
type pullMode struct {
	queue    bool // it queues pulls: one waited long, and began when another one ended
	parallel bool // it runs several at once: two did
	serial   bool // it runs one at a time
}

// mode returns how the node pulls. p is the pull in question, which need not be in the log.
//
// If a pull waited, began as another one ended, and ran alone, the node runs one pull at a time: otherwise other pulls
// would have continued. The latest evidence counts, because the kubelet's configuration may change.
func (l *PullLog) mode(p *Pull, uid string) (m pullMode) {
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
		parallel = latest(parallel, o.overlappedUntil)
		if o.dequeued && o.overlappedUntil.IsZero() {
			alone = latest(alone, o.from)
		}
		m.queue = m.queue || o.dequeued
		if o.uid == uid {
			continue
		}
		own.overlappedUntil = latest(own.overlappedUntil, own.overlapEnd(o))
		own.dequeued = own.dequeued || own.dequeuedAfter(o)
	}
	if own.dequeued && own.overlappedUntil.IsZero() {
		alone = latest(alone, own.from)
	}
	parallel = latest(parallel, own.overlappedUntil)
	m.queue = m.queue || own.dequeued
	m.serial = alone.After(parallel.Add(2*loggedError)) && !l.overtook(p, uid)
	m.parallel = !m.serial && !parallel.IsZero()
	return m
}

// overtook reports whether a pull ran although an earlier request has not ended. Either the earlier pull was running in
// parallel, or its end was not reported.
func (l *PullLog) overtook(p *Pull, uid string) bool {
	for _, r := range l.open(p.FinishedAt, uid) {
		if r.from.Add(2 * loggedError).Before(p.RequestedAt) {
			return true
		}
	}
	return false
}
