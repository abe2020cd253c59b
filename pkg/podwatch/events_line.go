package podwatch

import (
	"context"
	"slices"
)

// line is the watches that wait for a place, first come, first served; guarded by the lock of Events.
type line struct {
	waiting []*follower // as many as pods at most
	taken   int         // places
	limit   int
}

func (l *line) remove(f *follower) {
	l.waiting = slices.DeleteFunc(l.waiting, func(other *follower) bool { return other == f })
}

// queue puts a watch at the end of the line. A shared watch that only lingers makes room for it.
func (e *Events) queue(f *follower) {
	e.line.waiting = append(e.line.waiting, f)
	if e.line.taken < e.line.limit {
		return
	}
	for _, other := range e.shared {
		if len(other.pods) == 0 {
			e.stopShared(other)
			return
		}
	}
}

// admit gives the first in line a place, and a context that ends with its turn; nil when there is no
// place or nobody waits.
func (e *Events) admit(ctx context.Context) (*follower, context.Context) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.line.taken >= e.line.limit || len(e.line.waiting) == 0 {
		return nil, nil
	}
	f := e.line.waiting[0]
	e.line.waiting = slices.Delete(e.line.waiting, 0, 1)
	e.line.taken++
	ctx, f.cancel = context.WithCancel(ctx)
	return f, ctx
}

// leave takes a watch's place away and puts it in line again if it is still wanted.
func (e *Events) leave(f *follower) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f.cancel()
	f.cancel = nil
	e.line.taken--
	switch {
	case f.alone != nil && f.alone.own == f, e.shared[f.namespace] == f && len(f.pods) > 0:
		e.queue(f)
	case e.shared[f.namespace] == f:
		delete(e.shared, f.namespace)
	}
	e.nudge()
}

// stop takes a watch out of the line, or ends its turn; whoever calls has made sure that it does not come
// back.
func (e *Events) stop(f *follower) {
	if f.cancel != nil {
		f.cancel()
		return
	}
	e.line.remove(f)
}

// othersWait says whether a place would be of use to somebody.
func (e *Events) othersWait() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.line.waiting) > 0
}
