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

// DefaultEventWatches is how many Event watches are open at once unless configured otherwise. Each is
// a watch on etcd, and the API server decodes every Event of the namespace for it.
const DefaultEventWatches = 32

// EventsConfig is what Events needs; all but Cluster, Limit and Delay is required.
type EventsConfig struct {
	Client   rest.Interface
	NodeName string // a shared watch remembers what the kubelet of this node said
	// Observe takes EventSeen, EventsWatched and EventsLost, from one goroutine per open watch. While it
	// blocks, that watch's next Events wait in the connection; it must return when the context of Run ends.
	Observe func(context.Context, timeline.Observation)
	Report  health.Report
	Now     func() time.Time
	Cluster bool // one watch over all namespaces, for small clusters
	Limit   int  // watches open at once; DefaultEventWatches when not positive
	// Delay, if set, is told how late Events of this node's kubelet came, by the nanoseconds in
	// their names. It may be called from several goroutines.
	Delay func(time.Duration)
}

// Events observes kubelet's Events about the pods it was told to watch: with a watch for each, or with one
// that all pods of a namespace share once they are many. Of more watches than Limit, the others wait in
// line; then each open one gives up its place after a while and goes to the end of the line. That loses no
// Event, since a watch begins with all that the API server still holds; but in between nobody watches, and
// EventsLost says so.
type Events struct {
	config EventsConfig
	wake   chan struct{} // capacity 1, dropped when full: the line or the number of places taken changed
	// remember is how many Events a shared watch remembers; tests lower it.
	remember int

	mu     sync.Mutex
	wanted map[string]*want     // by pod UID; as many as pods that reconcile wants Events of
	shared map[string]*follower // by namespace, in cluster mode under the empty one
	line   line
	totals totals
}

// NewEvents makes a source that watches nothing yet.
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
		line:     line{limit: config.Limit},
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
			f, turn := e.admit(ctx)
			if f == nil {
				break
			}
			followers.Go(func() {
				e.follow(ctx, turn, f)
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

// Unwatch ends the watch of a pod. It does not block; an observation that is being handed over may
// still come after it returns.
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
	if len(f.pods) > 0 || f.isOpen() && len(e.line.waiting) == 0 {
		f.nudge()
	} else {
		e.stopShared(f) // a place that would be of use to others is not lingered in
	}
}

// nudge has Run look at the line.
func (e *Events) nudge() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}
