package podwatch

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// DefaultEventWatches is the default limit of open Event watches. Each is a watch on etcd, and the
// API server decodes every Event of the namespace for it.
const DefaultEventWatches = 32

// EventsConfig is what Events needs. All fields but Cluster, Limit and Delay are required.
type EventsConfig struct {
	Client   rest.Interface
	NodeName string // a shared watch remembers the Events of this node's kubelet
	// Observe takes EventSeen, EventsWatched and EventsLost, from one goroutine per open watch.
	// While it blocks, that watch's next Events wait in the connection. It must return when the
	// context of Run ends.
	Observe func(context.Context, timeline.Observation)
	Report  health.Report
	Now     func() time.Time
	Cluster bool // use one watch over all namespaces, for small clusters
	Limit   int  // open watches at once; DefaultEventWatches if not positive
	// Delay, if set, gets the delay of each Event of this node's kubelet, by the nanoseconds in its
	// name. It may be called from several goroutines.
	Delay func(time.Duration)
}

// Events observes the kubelet's Events about the wanted pods, with one watch per pod, or with one
// that all pods of a namespace share once they are many. If more than Limit watches are wanted, the
// others wait in a queue. Each open watch then gives up its slot after a lease and goes to the end
// of the queue. That loses no Event, because a watch begins with all Events that the API server
// still holds; but in between the pod is not watched, and EventsLost says so.
type Events struct {
	config EventsConfig
	wake   chan struct{} // capacity 1, dropped when full: the queue or the number of taken slots changed
	// remember is how many Events a shared watch remembers; tests lower it.
	remember int

	mu     sync.Mutex
	wanted map[string]*want     // by pod UID; as many as pods whose Events reconcile wants
	shared map[string]*follower // by namespace; in cluster mode, under the empty one
	queue  watchQueue
	totals totals
}

// NewEvents creates a source that watches nothing yet.
func NewEvents(config EventsConfig) *Events {
	if config.Limit <= 0 {
		config.Limit = DefaultEventWatches
	}
	return &Events{
		config:   config,
		wake:     make(chan struct{}, 1),
		remember: maxRemembered,
		wanted:   map[string]*want{},
		shared:   map[string]*follower{},
		queue:    watchQueue{limit: config.Limit},
	}
}

// Run opens the wanted watches until ctx ends. Then it waits until all of them are closed and
// returns nil. It may be called once.
func (e *Events) Run(ctx context.Context) error {
	var followers sync.WaitGroup
	defer followers.Wait()
	e.config.Report(true, "idle")
	for {
		for {
			f, lease := e.admit(ctx)
			if f == nil {
				break
			}
			followers.Go(func() {
				e.follow(ctx, lease, f)
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

// Watch requests the Events of a pod until Unwatch. It does not block. Repeated calls have no
// effect. It may be called before Run and from any goroutine.
func (e *Events) Watch(w timeline.EventWatch) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, ok := e.wanted[w.UID]; ok {
		return
	}
	p := newWant(w)
	e.wanted[w.UID] = p
	scope := e.scope(p)
	switch f := e.shared[scope]; {
	case f != nil:
		e.join(f, p)
		f.nudge()
	case e.config.Cluster || e.wantedIn(scope) > maxAlone:
		e.share(scope)
	default:
		e.watchAlone(p)
	}
	e.nudge()
}

// Unwatch ends the watch of a pod. It does not block. An observation that is being passed on may
// still arrive after it returns.
func (e *Events) Unwatch(uid string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p, ok := e.wanted[uid]
	if !ok {
		return
	}
	delete(e.wanted, uid)
	p.unwanted.Store(true)
	e.stopAlone(p)
	f := p.shared
	if f == nil {
		return
	}
	f.pods = slices.DeleteFunc(f.pods, func(other *want) bool { return other == p })
	if len(f.pods) > 0 || f.isOpen() && len(e.queue.waiting) == 0 {
		f.nudge()
	} else {
		e.stopShared(f) // a slot that others need does not linger
	}
}

// nudge wakes Run to look at the queue.
func (e *Events) nudge() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}
