package podwatch

import (
	"context"
	"slices"
)

// watchQueue holds the watches that wait for a slot; guarded by the lock of Events. Watches that
// never had a slot come first, then those whose lease ended, each first in, first out: what
// happened to one pod must be known while it still matters, even if many others wait in vain.
type watchQueue struct {
	waiting []*follower // at most as many as pods
	taken   int         // slots in use
	limit   int
}

func (q *watchQueue) remove(f *follower) {
	q.waiting = slices.DeleteFunc(q.waiting, func(other *follower) bool { return other == f })
}

// enqueue adds a watch to the queue. If all slots are taken, a shared watch that only lingers gives
// up its slot.
func (e *Events) enqueue(f *follower) {
	at := len(e.queue.waiting)
	if !f.served {
		if i := slices.IndexFunc(e.queue.waiting, func(other *follower) bool { return other.served }); i >= 0 {
			at = i
		}
	}
	e.queue.waiting = slices.Insert(e.queue.waiting, at, f)
	if e.queue.taken < e.queue.limit {
		return
	}
	for _, other := range e.shared {
		if len(other.pods) == 0 {
			e.stopShared(other)
			return
		}
	}
}

// admit gives the first watch in the queue a slot, and a context that ends with its lease. It
// returns nil if no slot is free or the queue is empty.
func (e *Events) admit(ctx context.Context) (*follower, context.Context) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.queue.taken >= e.queue.limit || len(e.queue.waiting) == 0 {
		return nil, nil
	}
	f := e.queue.waiting[0]
	e.queue.waiting = slices.Delete(e.queue.waiting, 0, 1)
	e.queue.taken++
	f.served = true
	ctx, f.cancel = context.WithCancel(ctx)
	return f, ctx
}

// leave releases a watch's slot and enqueues the watch again if it is still wanted.
func (e *Events) leave(f *follower) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f.cancel()
	f.cancel = nil
	e.queue.taken--
	switch {
	case f.alone != nil && f.alone.own == f, e.shared[f.namespace] == f && len(f.pods) > 0:
		e.enqueue(f)
	case e.shared[f.namespace] == f:
		delete(e.shared, f.namespace)
	}
	e.nudge()
}

// stop removes a watch from the queue, or ends its lease. The caller has made sure that it does not
// come back.
func (e *Events) stop(f *follower) {
	if f.cancel != nil {
		f.cancel()
		return
	}
	e.queue.remove(f)
}

// othersWait reports whether a watch waits for a slot.
func (e *Events) othersWait() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.queue.waiting) > 0
}

// isOver reports whether a watch gives up its slot: after a lease to any watch, and before that,
// once it has delivered all existing Events, to one that never had a slot.
func (e *Events) isOver(r *reading) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.queue.waiting) == 0 {
		return false
	}
	return e.config.Now().Sub(r.openedAt) >= leaseTime || r.proven && !e.queue.waiting[0].served
}
