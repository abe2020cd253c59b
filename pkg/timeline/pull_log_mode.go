package timeline

import (
	"time"
)

// What the pulls of a node tell of how its kubelet pulls. By default it pulls one image after the other; with
// serializeImagePulls: false it pulls all at once, and with maxParallelImagePulls so many. No API tells which, so
// nothing is assumed: the lengths that the kubelet gives have to show it.
const (
	// loggedError bounds how far the instants of a logged pull can be from the truth: an Event is named up to 100 ms
	// late, and more on a node that is short of CPU. floorError comes on top where only the second is known.
	loggedError = 250 * time.Millisecond
	floorError  = time.Second
	// leastQueue is a wait that only a queue explains.
	leastQueue = time.Second
	// leastBeside is the shortest overlap of two pulls that counts on a node that is known to pull several at once.
	leastBeside = 100 * time.Millisecond
	// staleRequest is the age from which a request whose end was never seen is no pull any more: its Event was lost.
	staleRequest = 10 * time.Minute
	// evidenceAge is how long a pull says how the node pulls: the kubelet may be configured anew.
	evidenceAge = time.Hour
)

// compare notes what a new pull and those that are known show together.
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

// overlapEnd is until when two pulls ran at the same time, for certain; zero if they need not have.
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

// dequeuedAfter says that a pull waited long and began as another one ended.
func (o *loggedPull) dequeuedAfter(before *loggedPull) bool {
	exact := !o.startUnknown && o.error == loggedError && before.error == loggedError
	waited := !o.requestedAt.IsZero() && o.from.Sub(o.requestedAt) >= leastQueue
	return exact && waited && o.from.Sub(before.until).Abs() <= o.error+before.error
}

// overlap is how much of a stretch of time a pull took; negative if it took none of it.
func (o *loggedPull) overlap(from, until time.Time) time.Duration {
	if o.from.After(from) {
		from = o.from
	}
	if o.until.Before(until) {
		until = o.until
	}
	return until.Sub(from)
}

// pullMode is how a node pulls, as far as its pulls show it; the zero value is that they do not.
type pullMode struct {
	queue    bool // it has pulls wait: one waited long, and began when another one ended
	parallel bool // it runs several at once: two did
	serial   bool // it runs one at a time
}

// mode is how the node pulls. p is the pull in question, which the log may not have.
//
// A pull that waited, took over from another one and ran alone shows that the node runs one at a time: if it ran
// several, the others would have gone on. What was seen last counts, because the kubelet may have been configured anew.
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

// overtook says that a pull ran although one that was asked for before has not ended: that one went on beside it, or
// its end was not told.
func (l *PullLog) overtook(p *Pull, uid string) bool {
	for _, r := range l.open(p.FinishedAt, uid) {
		if r.from.Add(2 * loggedError).Before(p.RequestedAt) {
			return true
		}
	}
	return false
}
