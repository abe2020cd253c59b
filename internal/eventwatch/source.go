package eventwatch

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// DefaultWatches is the default limit of open Event watches. Each is a watch on etcd, and the
// API server decodes every Event of the namespace for it.
const DefaultWatches = 32

// Config is what Source needs. All fields but Cluster, Limit and Delay are required.
type Config struct {
	Client   rest.Interface
	NodeName string // a shared watch remembers the Events of this node's kubelet
	// Observe takes EventSeen, EventsWatched and EventsLost, from one goroutine per open watch.
	// While it blocks, that watch's next Events wait in the connection. It must return when the
	// context of Run ends.
	Observe func(context.Context, timeline.Observation)
	Report  health.Report
	Now     func() time.Time
	// Registerer gets the metrics of the watches.
	Registerer prometheus.Registerer
	Cluster    bool // use one watch over all namespaces, for small clusters
	Limit      int  // open watches at once; DefaultWatches if not positive
	// Delay, if set, gets the delay of each Event of this node's kubelet, by the nanoseconds in its
	// name. It may be called from several goroutines.
	Delay func(time.Duration)
}

// Source observes the kubelet's Events about the requested pods, with one watch per pod, or with one
// that all pods of a namespace share once they are many. If more than Limit watches are needed, the
// others wait in a queue. Each open watch then gives up its slot after a lease and goes to the end
// of the queue. That loses no Event, because a watch begins with all Events that the API server
// still holds; but the pod is not watched in between, which EventsLost reports.
type Source struct {
	config Config
	wake   chan struct{} // capacity 1, dropped when full: the queue or the number of taken slots changed
	// remember is how many Events a shared watch remembers; tests lower it.
	remember int
	metrics  metrics

	mu       sync.Mutex
	requests map[string]*request  // by pod UID; as many as pods whose Events reconcile requests
	shared   map[string]*follower // by namespace; in cluster mode, under the empty one
	queue    watchQueue
	times    openTimes
}

// New creates a source that watches nothing yet.
func New(config Config) *Source {
	if config.Limit <= 0 {
		config.Limit = DefaultWatches
	}
	s := &Source{
		config:   config,
		wake:     make(chan struct{}, 1),
		remember: maxRemembered,
		requests: map[string]*request{},
		shared:   map[string]*follower{},
		queue:    watchQueue{limit: config.Limit},
		times:    openTimes{open: map[*follower]struct{}{}},
	}
	s.metrics = newMetrics(config.Registerer, s)
	return s
}

// Run opens the requested watches until ctx ends. Then it waits until all of them are closed and
// returns nil. It may be called once.
func (s *Source) Run(ctx context.Context) error {
	var followers sync.WaitGroup
	defer followers.Wait()
	s.config.Report(true, "idle")
	for {
		for {
			f, lease := s.admit(ctx)
			if f == nil {
				break
			}
			followers.Go(func() {
				s.follow(ctx, lease, f)
				s.leave(f)
			})
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return nil
		}
	}
}

// Watch requests the Events of a pod until Unwatch. It does not block. Repeated calls have no
// effect. It may be called before Run and from any goroutine.
func (s *Source) Watch(w timeline.EventWatch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.requests[w.UID]; ok {
		return
	}
	p := newRequest(w)
	s.requests[w.UID] = p
	scope := s.scope(p)
	switch f := s.shared[scope]; {
	case f != nil:
		s.join(f, p)
		f.nudge()
	case s.config.Cluster || s.requestsIn(scope) > maxAlone:
		s.share(scope)
	default:
		s.watchAlone(p)
	}
	s.nudge()
}

// Unwatch ends the watch of a pod. It does not block. An observation that is being passed on may
// still arrive after it returns.
func (s *Source) Unwatch(uid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.requests[uid]
	if !ok {
		return
	}
	delete(s.requests, uid)
	p.withdrawn.Store(true)
	s.stopAlone(p)
	f := p.shared
	if f == nil {
		return
	}
	f.pods = slices.DeleteFunc(f.pods, func(other *request) bool { return other == p })
	if len(f.pods) > 0 || f.isOpen() && len(s.queue.waiting) == 0 {
		f.nudge()
	} else {
		s.stopShared(f) // a slot that others need does not linger
	}
}

// nudge wakes Run to look at the queue.
func (s *Source) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
