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
	ErrSlow  = errors.New("queued items could not be delivered in time")
)

// Config configures a Queue. Every field is required.
type Config struct {
	Name     string // value of the label sink, the same for the life of the agent
	Capacity int    // the maximum number of queued items
	// Drain is how long Run keeps delivering queued items after its context ends.
	Drain      time.Duration
	Registerer prometheus.Registerer // gets the three metrics of this sink
}

// Queue holds items that wait for delivery, in order. When it is full, it drops the newest item and keeps the older
// ones. All methods but Run may be called from any goroutine.
type Queue[T any] struct {
	config  Config
	sent    prometheus.Counter
	dropped prometheus.Counter
	items   chan *T // pointers, so that an empty queue is small; only holders of mu send

	mu    sync.Mutex
	ended bool
}

// NewQueue returns an empty queue. It panics if the metrics of a sink with this name are already
// registered.
func NewQueue[T any](config Config) *Queue[T] {
	q := &Queue[T]{config: config, items: make(chan *T, config.Capacity)}
	q.sent, q.dropped = register(config, q.Len)
	return q
}

// Offer queues an item. If it cannot, it counts the item as dropped and returns why: ErrFull, or
// ErrEnded once Run has returned. It never waits.
func (q *Queue[T]) Offer(item T) error { return q.OfferLeaving(item, 0) }

// OfferLeaving is Offer for less important items: it leaves a number of slots free for others.
func (q *Queue[T]) OfferLeaving(item T, places int) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.ended:
		q.dropped.Inc()
		return ErrEnded
	case len(q.items)+places >= cap(q.items):
		q.dropped.Inc()
		return ErrFull
	}
	kept := item // only this copy moves to the heap
	q.items <- &kept
	return nil
}

// Len returns how many items wait.
func (q *Queue[T]) Len() int { return len(q.items) }

// Sent counts items as delivered.
func (q *Queue[T]) Sent(items int) { q.sent.Add(float64(items)) }

// Drop counts items as dropped that deliver took but that did not arrive.
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
		var item *T
		select {
		case item = <-q.items:
		default:
			idle()
			if stopping {
				return nil
			}
			select {
			case item = <-q.items:
			case <-ctx.Done():
				continue
			}
		}
		err := limit.Err()
		if err != nil {
			err = ErrSlow
		} else {
			err = deliver(limit, *item)
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
	q.ended = true
	for ; len(q.items) > 0; lost++ {
		<-q.items
	}
	q.Drop(lost)
	return lost
}
