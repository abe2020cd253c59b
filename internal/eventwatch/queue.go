package eventwatch

import (
	"context"
	"slices"
)

// watchQueue holds the watches that wait for a slot. A watch can open only while it has a slot, and the number of slots
// is limited. In the queue, watches that never had a slot come before watches that had a slot. Within each of these two
// groups, enqueue adds a watch at the end. So a new pod gets its Events early, even if many older pods wait. The lock
// of Source guards watchQueue.
type watchQueue struct {
	waiting []*watcher // at most one watch per pod
	taken   int        // slots in use
	limit   int
}

func (q *watchQueue) remove(w *watcher) {
	q.waiting = slices.DeleteFunc(q.waiting, func(other *watcher) bool { return other == w })
}

// enqueue adds a watch to the queue. If the watch can open but no slot is free, enqueue stops a shared watch that
// serves no pod.
func (s *Source) enqueue(w *watcher) {
	at := len(s.queue.waiting)
	if !w.served {
		if i := slices.IndexFunc(s.queue.waiting, func(other *watcher) bool { return other.served }); i >= 0 {
			at = i
		}
	}
	s.queue.waiting = slices.Insert(s.queue.waiting, at, w)
	if s.queue.taken < s.queue.limit || s.mustWait(w) {
		return
	}
	for _, other := range s.shared {
		if len(other.pods) == 0 {
			s.stopShared(other)
			return
		}
	}
}

// giveSlot gives a slot to the first watch in the queue that can open, and returns the watch with its lease. The lease
// is a context. When this context is canceled, the watch must end. If no slot is free or no waiting watch can open,
// giveSlot returns nil.
func (s *Source) giveSlot(ctx context.Context) (*watcher, context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queue.taken >= s.queue.limit {
		return nil, nil
	}
	w := s.nextOpenable()
	if w == nil {
		return nil, nil
	}
	s.queue.remove(w)
	s.queue.taken++
	w.served = true
	ctx, w.cancel = context.WithCancel(ctx)
	return w, ctx
}

// releaseSlot releases the slot of a watch. If pods still need the watch, releaseSlot adds the watch to the queue
// again.
func (s *Source) releaseSlot(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.cancel()
	w.cancel, w.yielding = nil, false
	s.queue.taken--
	switch {
	case w.alone != nil && w.alone.own == w, s.shared[w.namespace] == w && len(w.pods) > 0:
		s.enqueue(w)
	case s.shared[w.namespace] == w:
		delete(s.shared, w.namespace)
	}
	s.refresh()
}

// stop closes a watch that is open or opening, which means that it has a slot. If the watch has no slot, stop removes
// the watch from the queue. The caller must make sure that releaseSlot does not add the watch to the queue again.
func (s *Source) stop(w *watcher) {
	if w.cancel != nil {
		w.cancel()
		return
	}
	s.queue.remove(w)
}

// After a watch has ended, mustLeaveSlot reports whether the watch must release its slot to another watch. If the
// result is false, the watch can keep its slot and open again.
func (s *Source) mustLeaveSlot(w *watcher) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.successor() != nil || s.mustYield(w)
}

// mustReleaseSlot reports whether an open watch must release its slot. After leaseTime, the watch releases the slot if
// a waiting watch can use the slot, or if mustYield returns true. Before leaseTime has passed, the watch releases the
// slot only if it has delivered all existing Events and the waiting watch never had a slot.
func (s *Source) mustReleaseSlot(r *watchSession) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	expired := s.config.Now().Sub(r.openedAt) >= leaseTime
	if other := s.successor(); other != nil {
		return expired || r.proven && !other.served
	}
	return expired && s.mustYield(r.watcher)
}
