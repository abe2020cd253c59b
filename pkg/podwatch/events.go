package podwatch

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/pkg/health"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// DefaultEventWatches is how many Event watches are open at once unless configured otherwise. Each is
// a watch on etcd, and the API server decodes every Event of the namespace for it.
const DefaultEventWatches = 32

// EventsConfig is what Events needs; all but Limit is required.
type EventsConfig struct {
	Client rest.Interface
	// Observe takes EventSeen, from one goroutine per open watch. While it blocks, that watch's next
	// Events wait in the connection; it must return when the context ends.
	Observe func(context.Context, timeline.Observation)
	Report  health.Report
	Now     func() time.Time
	Limit   int // watches open at once; DefaultEventWatches when not positive
}

// Events observes kubelet's Events about the pods it was told to watch. Of more pods than Limit, the
// others wait in line; then each open watch gives up its place after a while and goes to the end of
// the line. That loses no Event: a watch begins with all that the API server still holds.
type Events struct {
	config   EventsConfig
	received atomic.Uint64
	opened   atomic.Uint64
	wake     chan struct{} // capacity 1, dropped when full: the line or the number of open watches changed

	mu      sync.Mutex
	wanted  map[string]*follower // by pod UID; as many as pods that reconcile wants Events of
	waiting []*follower          // first come, first served
	open    int                  // followers that have a place
}

// EventsStats counts what Events does.
type EventsStats struct {
	Open     int    // pods with a place, whether their watch is connected or between two tries
	Waiting  int    // pods in line for a place
	Opened   uint64 // watches that the API server accepted so far
	Received uint64 // Events observed so far
}

// NewEvents makes a source of EventSeen that watches nothing yet.
func NewEvents(config EventsConfig) *Events {
	if config.Limit <= 0 {
		config.Limit = DefaultEventWatches
	}
	return &Events{
		config: config,
		wake:   make(chan struct{}, 1),
		wanted: map[string]*follower{},
	}
}

// Run opens the watches that are wanted until ctx ends; then it waits for all of them to be closed
// and returns nil. It may be called once.
func (e *Events) Run(ctx context.Context) error {
	var followers sync.WaitGroup
	defer followers.Wait()
	e.config.Report(true, "idle")
	for {
		for {
			f, followContext := e.admit(ctx)
			if f == nil {
				break
			}
			followers.Go(func() {
				e.follow(followContext, f)
				e.leave(f)
			})
		}
		select {
		case <-e.wake:
		case <-ctx.Done():
			return nil
		}
	}
}

// Watch asks for the Events of a pod until Unwatch. It does not block; asking again changes nothing.
// It may be called before Run and from any goroutine.
func (e *Events) Watch(w timeline.EventWatch) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, ok := e.wanted[w.UID]; ok {
		return
	}
	f := &follower{watch: w, seen: map[string]string{}}
	e.wanted[w.UID] = f
	e.waiting = append(e.waiting, f)
	e.nudge()
}

// Unwatch ends the watch of a pod. It does not block; an observation that is being handed over may
// still come after it returns.
func (e *Events) Unwatch(uid string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f, ok := e.wanted[uid]
	if !ok {
		return
	}
	delete(e.wanted, uid)
	if f.cancel != nil {
		f.cancel()
		return
	}
	e.waiting = slices.DeleteFunc(e.waiting, func(other *follower) bool { return other == f })
}

// Stats may be called from any goroutine.
func (e *Events) Stats() EventsStats {
	e.mu.Lock()
	defer e.mu.Unlock()
	return EventsStats{Open: e.open, Waiting: len(e.waiting), Opened: e.opened.Load(), Received: e.received.Load()}
}

// admit gives the first in line a place and the context it may follow in; nil when there is no
// place or nobody waits.
func (e *Events) admit(ctx context.Context) (*follower, context.Context) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open >= e.config.Limit || len(e.waiting) == 0 {
		return nil, nil
	}
	f := e.waiting[0]
	e.waiting = slices.Delete(e.waiting, 0, 1)
	e.open++
	ctx, f.cancel = context.WithCancel(ctx)
	return f, ctx
}

// leave takes a follower's place away and puts it in line again if it is still wanted.
func (e *Events) leave(f *follower) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f.cancel()
	f.cancel = nil
	e.open--
	if e.wanted[f.watch.UID] == f {
		e.waiting = append(e.waiting, f)
	}
	e.nudge()
}

// othersWait says whether a place would be of use to somebody.
func (e *Events) othersWait() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.waiting) > 0
}

func (e *Events) nudge() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}
