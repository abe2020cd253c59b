package podwatch

import (
	"context"
	"slices"
)

// line is the watches that wait for a place; guarded by the lock of Events. Those that never had
// one come first, then those whose turn was over, each first come, first served: what came to one
// pod is to be known while it still matters, whatever many others wait for in vain.
type line struct {
	waiting []*follower // as many as pods at most
	taken   int         // places
	limit   int
}

func (l *line) remove(f *follower) {
	l.waiting = slices.DeleteFunc(l.waiting, func(other *follower) bool { return other == f })
}

// queue puts a watch in line. A shared watch that only lingers makes room for it.
func (e *Events) queue(f *follower) {
	at := len(e.line.waiting)
	if !f.served {
		if i := slices.IndexFunc(e.line.waiting, func(other *follower) bool { return other.served }); i >= 0 {
			at = i
		}
	}
	e.line.waiting = slices.Insert(e.line.waiting, at, f)
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
	f.served = true
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

// isOver says whether a watch gives up its place: after a turn to any, and before that, once it has
// told all there was, to one that never had a place.
func (e *Events) isOver(r *reading) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.line.waiting) == 0 {
		return false
	}
	return e.config.Now().Sub(r.openedAt) >= turn || r.proven && !e.line.waiting[0].served
}
