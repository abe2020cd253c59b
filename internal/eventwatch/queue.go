package eventwatch

import (
	"context"
	"slices"
)

// watchQueue holds the watches that wait for a slot; guarded by the lock of Source. Watches that
// never had a slot come first, then those whose lease ended, each first in, first out: a new pod must get its Events
// while they still matter, even if many older pods keep waiting.
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
func (s *Source) enqueue(f *follower) {
	at := len(s.queue.waiting)
	if !f.served {
		if i := slices.IndexFunc(s.queue.waiting, func(other *follower) bool { return other.served }); i >= 0 {
			at = i
		}
	}
	s.queue.waiting = slices.Insert(s.queue.waiting, at, f)
	if s.queue.taken < s.queue.limit {
		return
	}
	for _, other := range s.shared {
		if len(other.pods) == 0 {
			s.stopShared(other)
			return
		}
	}
}

// admit gives the first watch in the queue a slot, and a context that ends with its lease. It
// returns nil if no slot is free or the queue is empty.
func (s *Source) admit(ctx context.Context) (*follower, context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queue.taken >= s.queue.limit || len(s.queue.waiting) == 0 {
		return nil, nil
	}
	f := s.queue.waiting[0]
	s.queue.waiting = slices.Delete(s.queue.waiting, 0, 1)
	s.queue.taken++
	f.served = true
	ctx, f.cancel = context.WithCancel(ctx)
	return f, ctx
}

// leave releases a watch's slot and enqueues the watch again if it is still requested.
func (s *Source) leave(f *follower) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.cancel()
	f.cancel = nil
	s.queue.taken--
	switch {
	case f.alone != nil && f.alone.own == f, s.shared[f.namespace] == f && len(f.pods) > 0:
		s.enqueue(f)
	case s.shared[f.namespace] == f:
		delete(s.shared, f.namespace)
	}
	s.nudge()
}

// stop removes a watch from the queue, or ends its lease. The caller has made sure that it does not
// come back.
func (s *Source) stop(f *follower) {
	if f.cancel != nil {
		f.cancel()
		return
	}
	s.queue.remove(f)
}

// othersWait reports whether a watch waits for a slot.
func (s *Source) othersWait() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue.waiting) > 0
}

// isOver reports whether a watch must give up its slot: to any watch after a full lease, or to a watch that never had a
// slot once this one has delivered all existing Events.
func (s *Source) isOver(r *reading) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue.waiting) == 0 {
		return false
	}
	return s.config.Now().Sub(r.openedAt) >= leaseTime || r.proven && !s.queue.waiting[0].served
}
