package sink

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Why an offered item is dropped, and why Run abandons queued items.
var (
	ErrFull  = errors.New("queue is full")
	ErrEnded = errors.New("delivery has ended")
	ErrSlow  = errors.New("what was queued could not be delivered in time")
)

// keptRoom is how many slots an empty queue keeps allocated; the memory of a burst is freed.
const keptRoom = 64

// Config is what a Queue needs. Every field is required.
type Config struct {
	Name     string // value of the label sink, the same for the life of the agent
	Capacity int    // the maximum number of queued items
	// Drain is how long Run keeps delivering queued items after its context ends.
	Drain      time.Duration
	Registerer prometheus.Registerer // gets the three metrics of this sink
}

// Queue holds items that wait for delivery, in order. When it is full, it drops the newest item and
// keeps what it accepted first. All methods but Run may be called from any goroutine.
type Queue[T any] struct {
	config  Config
	sent    prometheus.Counter
	dropped prometheus.Counter
	wake    chan struct{} // capacity 1: a second wake-up adds nothing, so it is dropped

	mu    sync.Mutex
	items []T // items before first were delivered
	first int
	ended bool
}

// NewQueue returns an empty queue. It panics if the metrics of a sink with this name are already
// registered.
func NewQueue[T any](config Config) *Queue[T] {
	q := &Queue[T]{config: config, wake: make(chan struct{}, 1)}
	q.sent, q.dropped = register(config, q.Len)
	return q
}

// Offer queues an item. If it cannot, it counts the item as dropped and returns why: ErrFull, or
// ErrEnded once Run has returned. It never waits.
func (q *Queue[T]) Offer(item T) error { return q.OfferLeaving(item, 0) }

// OfferLeaving is Offer for less important items: it leaves a number of slots free for others.
func (q *Queue[T]) OfferLeaving(item T, places int) error {
	err := q.push(item, places)
	if err != nil {
		q.dropped.Inc()
		return err
	}
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return nil
}

// Len returns how many items wait.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.items) - q.first
}

// Sent counts items as delivered.
func (q *Queue[T]) Sent(items int) { q.sent.Add(float64(items)) }

// Drop counts items as dropped that deliver accepted and that did not arrive.
func (q *Queue[T]) Drop(items int) { q.dropped.Add(float64(items)) }

// Run delivers queued items, one at a time, until ctx is done, and then the remaining ones for at most Drain. It
// returns nil if that was enough. It calls idle whenever the queue is empty. deliver reports the result of its item by
// Sent or Drop, at once or later. An error of deliver ends Run, which drops that item and all queued ones; so does the
// end of Drain, with ErrSlow. deliver's context ends when Drain is over, not when ctx ends. If deliver ignores its
// context, Run waits for it. Run may be called once.
func (q *Queue[T]) Run(ctx context.Context, deliver func(context.Context, T) error, idle func()) error {
	limit, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(q.config.Drain, cancel) })()
	defer q.end()
	for {
		stopping := ctx.Err() != nil // read first: items offered before this point are still delivered
		item, ok := q.pop()
		if !ok {
			idle()
			if stopping {
				return nil
			}
			select {
			case <-q.wake:
			case <-ctx.Done():
			}
			continue
		}
		err := limit.Err()
		if err != nil {
			err = ErrSlow
		} else {
			err = deliver(limit, item)
		}
		if err != nil {
			q.Drop(1)
			return fmt.Errorf("%w (%d lost)", err, 1+q.end())
		}
	}
}

// end drops all queued items, and every item offered from now on.
func (q *Queue[T]) end() (lost int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	lost = len(q.items) - q.first
	q.items, q.first, q.ended = nil, 0, true
	q.Drop(lost)
	return lost
}

func (q *Queue[T]) push(item T, leave int) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.ended:
		return ErrEnded
	case len(q.items)-q.first+leave >= q.config.Capacity:
		return ErrFull
	}
	if q.first > 0 && len(q.items) == cap(q.items) { // no more capacity than for the queued items
		n := copy(q.items, q.items[q.first:])
		clear(q.items[n:])
		q.items, q.first = q.items[:n], 0
	}
	q.items = append(q.items, item)
	return nil
}

func (q *Queue[T]) pop() (item T, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.first == len(q.items) {
		return item, false
	}
	var none T
	item, q.items[q.first] = q.items[q.first], none
	q.first++
	if q.first == len(q.items) {
		q.items, q.first = q.items[:0], 0
		if cap(q.items) > keptRoom {
			q.items = nil
		}
	}
	return item, true
}
