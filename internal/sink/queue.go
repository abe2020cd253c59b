package sink

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Why an item that was offered is dropped, and why Run gives up what waits.
var (
	ErrFull  = errors.New("queue is full")
	ErrEnded = errors.New("delivery has ended")
	ErrSlow  = errors.New("what was queued could not be delivered in time")
)

// keptRoom is how many places of an empty queue keep their memory; a burst's goes with the burst.
const keptRoom = 64

// Config is what a Queue needs; every field is required.
type Config struct {
	Name     string // value of the label sink, the same for the life of the agent
	Capacity int    // how many items wait at most
	// Drain is how long Run goes on delivering what waits after it was told to stop.
	Drain      time.Duration
	Registerer prometheus.Registerer // gets the three metrics of this sink
}

// Queue holds what waits for delivery, in order. When it is full the newest is dropped: what was promised first is
// kept. All methods but Run may be called from any goroutine.
type Queue[T any] struct {
	config  Config
	sent    prometheus.Counter
	dropped prometheus.Counter
	wake    chan struct{} // capacity 1: a second wake-up would tell nothing new, so it is left out

	mu    sync.Mutex
	items []T // those before first have left
	first int
	ended bool
}

// NewQueue makes an empty queue. It panics when the registerer has metrics of a sink of this name already.
func NewQueue[T any](config Config) *Queue[T] {
	q := &Queue[T]{config: config, wake: make(chan struct{}, 1)}
	q.sent, q.dropped = register(config, q.Len)
	return q
}

// Offer queues an item, or counts it as dropped and says why: ErrFull, or ErrEnded once Run has returned. It never
// waits.
func (q *Queue[T]) Offer(item T) error { return q.OfferLeaving(item, 0) }

// OfferLeaving is Offer for what matters less: it leaves so many places free for what matters more.
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

// Len is how many items wait.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.items) - q.first
}

// Sent counts items as delivered.
func (q *Queue[T]) Sent(items int) { q.sent.Add(float64(items)) }

// Drop counts items as dropped that deliver took and that did not arrive.
func (q *Queue[T]) Drop(items int) { q.dropped.Add(float64(items)) }

// Run hands over what waits, one item at a time, until ctx is done, and then what still waits for as long as Drain; nil
// if that was enough. idle is called whenever nothing waits. deliver tells by Sent or Drop what became of its item, at
// once or later. An error of deliver ends Run, which drops that item and all that wait; so does the end of Drain, with
// ErrSlow. The context of deliver ends with Drain, not with ctx; a deliver that does not heed it is waited for.
// Run may be called once.
func (q *Queue[T]) Run(ctx context.Context, deliver func(context.Context, T) error, idle func()) error {
	limit, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(q.config.Drain, cancel) })()
	defer q.end()
	for {
		stopping := ctx.Err() != nil // looked at first: what was offered before that is still taken
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

// end drops what waits, and from now on what is offered.
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
	if q.first > 0 && len(q.items) == cap(q.items) { // no more room than for what waits
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
