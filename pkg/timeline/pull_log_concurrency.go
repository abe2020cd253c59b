package timeline

import (
	"cmp"
	"hash/fnv"
	"slices"
	"time"
)

// What the pulls of a node tell of how its kubelet pulls. By default it pulls one image after the other; with
// serializeImagePulls: false it pulls all at once, and with maxParallelImagePulls so many. No API tells which, so
// nothing is assumed: the lengths that kubelet gives have to show it.
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
	// evidenceAge is how long a pull says how the node pulls: kubelet may be configured anew.
	evidenceAge = time.Hour
)

// pullRequest is when kubelet asked for a pull.
type pullRequest struct {
	at   time.Time
	over bool
}

// running is another pull of the node, as far as it is known when it ran.
type running struct {
	from, until  time.Time // from is when it was asked for if that is all that is known; until is zero while it goes on
	startUnknown bool      // from is no more than when it was asked for
	pull         *loggedPull
}

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
// several, the others would have gone on. What was seen last counts, because kubelet may have been configured anew.
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

// open lists the pulls of other pods that were asked for before an instant and have not ended.
func (l *PullLog) open(before time.Time, uid string) []running {
	var open []running
	for of, request := range l.requests {
		if request.over || podOf(of) == uid || !request.at.Before(before) || before.Sub(request.at) > staleRequest {
			continue
		}
		if !l.sandboxKnown(podOf(of), request.at.Add(loggedError)) {
			continue
		}
		open = append(open, running{from: request.at, startUnknown: true})
	}
	return open
}

// others lists the pulls of other pods that may have run before an instant, ended or not.
func (l *PullLog) others(before time.Time, uid string) []running {
	all := l.open(before, uid)
	for i := range l.pulls {
		if o := &l.pulls[i]; o.uid != uid && o.from.Before(before) {
			all = append(all, running{o.from, o.until, o.startUnknown, o})
		}
	}
	return all
}

// concurrent is how many other pulls of the node went on at once, at most, while a pull did. One of which it is only
// known when it was asked for counts from then on if the node is not known to have a queue, and else not while it may
// have waited.
func (l *PullLog) concurrent(p *Pull, uid string, m pullMode) int {
	if !p.Timed || !p.FinishedAt.After(p.StartedAt) {
		return 0
	}
	least, noQueue := 2*loggedError, m.parallel && !m.queue
	if m.parallel {
		least = leastBeside
	}
	type change struct {
		at time.Time
		by int
	}
	var changes []change
	for _, o := range l.others(p.FinishedAt, uid) {
		from, until := o.from, o.until
		if until.IsZero() || until.After(p.FinishedAt) {
			until = p.FinishedAt
		}
		if o.startUnknown && !noQueue {
			if o.until.IsZero() || o.until.After(p.FinishedAt) {
				continue
			}
			from = until.Add(-least) // it ended then, so it ran just before
		}
		if from.Before(p.StartedAt) {
			from = p.StartedAt
		}
		if o.pull != nil && o.pull.error > loggedError {
			until = until.Add(-floorError)
		}
		if until.Sub(from) >= least {
			changes = append(changes, change{from, 1}, change{until, -1})
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.by, b.by)) })
	most, now := 0, 0
	for _, c := range changes {
		now += c.by
		most = max(most, now)
	}
	return most
}

// explainQueue says what a pull that waited in the node's queue waited for: how many pulls were before it and, if the node
// pulls one image after the other, which of them took the longest of its wait.
func (l *PullLog) explainQueue(p *Pull, uid string, m pullMode) {
	wait := p.StartedAt.Sub(p.RequestedAt)
	if !p.QueueTimed || wait < leastBlocked {
		return
	}
	ahead := 0
	var longest Blocker
	unexplained := wait
	for _, o := range l.others(p.StartedAt, uid) {
		if o.pull == nil {
			if o.from.Before(p.RequestedAt) {
				ahead++
			}
			continue
		}
		from := o.from
		if o.startUnknown && m.serial {
			from = l.failedPullStart(o.pull)
		}
		waited := overlapOf(from, o.until, p.RequestedAt, p.StartedAt)
		if waited < leastBlocked {
			continue
		}
		ahead++
		unexplained -= waited
		if waited > longest.Waited {
			longest = o.pull.blocker
			longest.Waited = waited
		}
	}
	switch {
	case m.serial && longest.Waited > 0 && longest.Waited >= unexplained: // else one that is not known may be longer
		p.Ahead, p.BlockedBy = ahead, &longest
	case m.parallel && m.queue && ahead > 1 && wait >= leastQueue:
		p.Ahead = ahead
	}
}

// sharesEarlier says that content of a pull may have come before it began: another pull that went on by then may have
// brought a part of the same layers. Not so if that one had hardly begun, or if its layers are known to be others.
func (l *PullLog) sharesEarlier(p *Pull, uid string, m pullMode) bool {
	if len(p.Layers) == 0 || m.serial {
		return false
	}
	const hardly = 20 // as a share of the time in which p came
	since := p.StartedAt.Add(-p.DownloadedAt.Sub(p.StartedAt) / hardly)
	return slices.ContainsFunc(l.others(p.StartedAt, uid), func(o running) bool {
		if !o.from.Before(since) {
			return false
		}
		return o.pull == nil || o.until.Add(o.pull.error).After(p.StartedAt) && o.pull.mayShare(p)
	})
}

// joins says that another pull of the same image went on when this one began: the manifest that this one found is
// that one's, and no attempt was broken off.
func (l *PullLog) joins(p *Pull, uid string) bool {
	image := normalized(p.Image)
	return slices.ContainsFunc(l.pulls, func(o loggedPull) bool {
		return o.uid != uid && !o.failed && o.image == image && o.from.Before(p.StartedAt) && o.until.After(p.StartedAt)
	})
}

// mayShare says that a pull may have brought layers of another one. All that one brought which went well had come
// when it ended.
func (o *loggedPull) mayShare(p *Pull) bool {
	return slices.ContainsFunc(p.Layers, func(layer Layer) bool {
		if !o.failed && layer.DownloadedAt.After(o.until.Add(o.error)) {
			return false
		}
		return o.layers == nil || slices.Contains(o.layers, layerHash(layer))
	})
}

// noteLayers notes which layers a settled pull brought.
func (l *PullLog) noteLayers(p *Pull, uid string) {
	if p.DownloadedAt.IsZero() {
		return
	}
	for i := range l.pulls {
		o := &l.pulls[i]
		if o.uid != uid || o.blocker.Container != p.Container || o.until.Sub(p.FinishedAt).Abs() > o.error+loggedError {
			continue
		}
		o.layers = make([]uint64, 0, len(p.Layers))
		for _, layer := range p.Layers {
			o.layers = append(o.layers, layerHash(layer))
		}
	}
}

// layerHash stands for a layer's digest, in an eighth of the memory.
func layerHash(layer Layer) uint64 { return textHash(layer.Digest) }

// textHash stands for a text that is only compared.
func textHash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return h.Sum64()
}

// failedPullStart is when a pull that failed began, of which kubelet tells no length, on a node that pulls one image after the
// other: when it was asked for, or when the last one before it was over.
func (l *PullLog) failedPullStart(p *loggedPull) time.Time {
	from := p.requestedAt
	for _, o := range l.pulls {
		if o.until.After(from) && o.until.Before(p.until) {
			from = o.until
		}
	}
	return from
}

func overlapOf(from, until, start, end time.Time) time.Duration {
	o := loggedPull{from: from, until: until}
	return o.overlap(start, end)
}
