package timeline

import (
	"cmp"
	"slices"
	"time"
)

// requester is the container for which the kubelet requests a pull.
type requester struct{ uid, container string }

// pullRequest is the kubelet's request for a pull.
type pullRequest struct {
	at    time.Time
	error time.Duration
	over  bool
	image uint64 // textHash of the image
}

// runningPull describes when another pod's pull ran.
type runningPull struct {
	// If startUnknown is true, only the time of the request is known, and "from" is this time. While the pull runs,
	// "until" is zero.
	from, until  time.Time
	startUnknown bool
	pull         *loggedPull // nil while the pull runs
	// The fields below are set only while the pull runs.
	error time.Duration // the maximum error of "from"
	image uint64        // textHash of the image
}

// openRequests returns the open pulls of other pods. The kubelet requested these pulls before the given time, and they
// have not ended.
func (l *PullLog) openRequests(before time.Time, uid string) []runningPull {
	var open []runningPull
	for of, request := range l.requests {
		if request.over || of.uid == uid || !request.at.Before(before) || before.Sub(request.at) > staleRequest {
			continue
		}
		if l.requestRefuted(of.uid, request) {
			continue
		}
		open = append(open,
			runningPull{from: request.at, startUnknown: true, error: request.error, image: request.image})
	}
	return open
}

// otherPulls returns the pulls of other pods that might have begun before the given time. The result includes completed
// pulls.
func (l *PullLog) otherPulls(before time.Time, uid string) []runningPull {
	all := l.openRequests(before, uid)
	for i := range l.pulls {
		if o := &l.pulls[i]; o.uid != uid && o.from.Before(before) {
			all = append(all, runningPull{from: o.from, until: o.until, startUnknown: o.startUnknown, pull: o})
		}
	}
	return all
}

// highestConcurrency returns the highest number of other pulls that ran in parallel with the pull p. Some other pulls
// have an unknown start. If the node has no pull queue, such a pull counts as running from the time of its request. If
// the node might have a queue, such a pull might have waited in the queue. So the pull counts as running only for a
// short time before its end.
func (l *PullLog) highestConcurrency(p *Pull, uid string, m pullMode) int {
	if !p.Timed || !p.FinishedAt.After(p.StartedAt) {
		return 0
	}
	least, noQueue := 2*loggedError, m.parallel && !m.queue
	if m.parallel {
		least = minParallel
	}
	type change struct {
		at time.Time
		by int
	}
	var changes []change
	for _, o := range l.otherPulls(p.FinishedAt, uid) {
		from, until := o.from, o.until
		if until.IsZero() || until.After(p.FinishedAt) {
			until = p.FinishedAt
		}
		if o.startUnknown && !noQueue {
			if o.until.IsZero() || o.until.After(p.FinishedAt) {
				continue
			}
			from = until.Add(-least) // the start is unknown, but the pull certainly ran shortly before its end
		}
		from = later(p.StartedAt, from)
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

// explainQueue records the reasons for a pull's wait in the node's queue. explainQueue counts the pulls that were ahead
// in the queue. If the node pulls one image after the other, explainQueue also names the pull that caused the longest
// delay.
func (l *PullLog) explainQueue(p *Pull, uid string, m pullMode) {
	wait := p.StartedAt.Sub(p.RequestedAt)
	if !p.QueueTimed || wait < leastBlocked {
		return
	}
	ahead := 0
	var longest Blocker
	unexplained := wait
	for _, o := range l.otherPulls(p.StartedAt, uid) {
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
	case m.serial && longest.Waited > 0 && longest.Waited >= unexplained:
		// Pulls that the agent does not know caused at most the unexplained part of the wait. This part is not longer
		// than longest.Waited.
		p.Ahead, p.BlockedBy = ahead, &longest
	case m.parallel && m.queue && ahead > 1 && wait >= leastQueue:
		p.Ahead = ahead
	}
}

// failedPullStart returns the start of a failed pull on a node that pulls one image after the other. The start is the
// time of the request or the end of the previous pull, whichever is later. The kubelet does not report the duration of
// a failed pull.
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
	return o.overlapWith(start, end)
}
