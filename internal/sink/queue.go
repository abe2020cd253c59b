package sink

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Reasons why Offer or Run drops items.
var (
	ErrFull  = errors.New("queue is full")
	ErrEnded = errors.New("delivery has stopped")
	ErrSlow  = errors.New("queued items could not be delivered in time")
)

// Config configures a Queue. Every field is required.
type Config struct {
	Name     string // value of the label "sink"; must not change while the agent runs
	Capacity int    // maximum number of queued items
	// After the context of Run is done, Run delivers queued items for at most the duration Drain.
	Drain      time.Duration
	Registerer prometheus.Registerer // registers the three metrics of this sink
}

// Queue holds items until Run delivers them. Run delivers the oldest item first. A full queue drops each new item and
// keeps the queued items. All methods except Run are safe to call from any goroutine.
type Queue[T any] struct {
	config  Config
	sent    prometheus.Counter
	dropped prometheus.Counter
	items   chan *T // queue of pointers, so that an empty queue is small; a goroutine must hold mu to send

	mu    sync.Mutex
	ended bool
}

// NewQueue returns an empty queue. NewQueue panics if the metrics of a sink with this name are already registered.
func NewQueue[T any](config Config) *Queue[T] {
	q := &Queue[T]{config: config, items: make(chan *T, config.Capacity)}
	q.sent, q.dropped = register(config, q.Len)
	return q
}

// Offer queues an item. If Offer cannot queue the item, it counts the item as dropped and returns the reason: ErrFull,
// or ErrEnded after Run has returned. Offer never waits.
func (q *Queue[T]) Offer(item T) error { return q.OfferLeaving(item, 0) }

// OfferLeaving works like Offer, but keeps some places in the queue free for more important items. The argument
// "places" is the number of these free places.
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
	kept := item // a copy, so that the argument does not move to the heap
	q.items <- &kept
	return nil
}

// Len returns the number of queued items.
func (q *Queue[T]) Len() int { return len(q.items) }

// Sent adds to the number of delivered items.
func (q *Queue[T]) Sent(items int) { q.sent.Add(float64(items)) }

// Drop adds to the number of dropped items. The caller uses Drop for items that the function "deliver" could not
// deliver.
func (q *Queue[T]) Drop(items int) { q.dropped.Add(float64(items)) }

// Run delivers queued items one at a time until ctx is done. After ctx is done, Run still delivers the remaining items,
// but not for longer than the duration Drain. Run calls the function "idle" each time the queue is empty. Run returns
// nil if it delivered all items. The caller can call Run only once.
//
// If the function "deliver" returns nil, the caller must count the item with Sent or Drop, immediately or later. Run
// does not count this item. If "deliver" returns an error, Run drops this item and all queued items, and returns the
// error. The time limit Drain starts when ctx is done. If items remain when the time limit Drain is over, Run drops
// all queued items and returns ErrSlow. The context of the function "deliver" ends when the time limit Drain is over,
// not when ctx is done. If "deliver" ignores its context, Run waits until "deliver" returns.
func (q *Queue[T]) Run(ctx context.Context, deliver func(context.Context, T) error, idle func()) error {
	limit, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(q.config.Drain, cancel) })()
	defer q.end()
	for {
		// Run checks ctx before it reads the queue. So Run does not miss items that were offered before ctx was done.
		stopping := ctx.Err() != nil
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
			return fmt.Errorf("%w (%d items dropped)", err, 1+q.end())
		}
	}
}

// end drops all queued items. After end, Offer drops every item.
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
