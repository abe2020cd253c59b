package eventwatch

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"
	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// DefaultWatches is the default limit of open Event watches. For each Event watch, the API server opens a watch on
// etcd and decodes every Event of the namespace.
const DefaultWatches = 32

// unservedAfter is the time after which a request without any observation about the pod counts as unserved. In the
// first seconds after a request, the pod's Events might not exist yet. If a pod waits for a slot for longer than
// unservedAfter, Source reports this wait.
const unservedAfter = 5 * time.Second

// Source remembers a pod's position (see type position) after the request for the pod has ended. maxEndedPositions
// limits the number of remembered positions. Most nodes have at most a few hundred pods.
const maxEndedPositions = 512

// Config configures a Source. All fields except Cluster, Limit, WithoutStarts and Delay are required.
type Config struct {
	Client   rest.Interface
	NodeName string // name of this node; a shared watch remembers only Events whose source.host is this name
	// Observe receives EventSeen, EventsWatched and EventsLost. Each open watch calls Observe from its own goroutine.
	// While this call of Observe blocks, the next Events of the watch wait in the connection to the API server. Observe
	// must return when the context of Run is done.
	Observe func(context.Context, timeline.Observation)
	Report  health.Report
	Now     func() time.Time
	// Registerer registers the metrics of the watches.
	Registerer prometheus.Registerer
	Cluster    bool // open one watch for all namespaces; suitable for small clusters
	Limit      int  // maximum number of open watches; DefaultWatches if not positive
	// WithoutStarts, if set, reports whether a new watch can leave out the Events Created and Started. If the result
	// changes later, the open watches stay open unchanged. They do not have to be replaced, because the core does not
	// need the timestamps of the Events Created and Started. Several goroutines can call WithoutStarts at the same
	// time.
	WithoutStarts func() bool
	// Delay, if set, receives the delay of each Event of this node's kubelet. The agent computes the delay from the
	// Event's name, which contains a timestamp in nanoseconds. Several goroutines can call Delay.
	Delay func(time.Duration)
}

// Source observes the kubelet's Events about the requested pods. A pod is requested from the call of Watch until the
// call of Unwatch. If only one pod of a namespace is requested, Source opens a watch for this pod. If at least
// sharedFrom pods of a namespace are requested, these pods share one watch. Other rules apply if the namespace has many
// Events about other pods (see crowdedSample and wideSample). If Config.Cluster is true, all requested pods share one
// watch.
//
// At most Config.Limit watches have a slot and can be open. Further watches wait in a queue for a slot. While watches
// wait, each open watch releases its slot after a limited time (leaseTime) and goes to the end of the queue. Until the
// watch opens again, the agent receives no Events about the watch's pods. EventsLost reports this gap. When the watch
// opens again, it begins at the revision at which it closed. So the watch also delivers the Events that were created
// while it was closed. If a pod waits for a slot for longer than unservedAfter, Source reports the wait as EventsLost
// with the field Limited. If the watches on a namespace cost the API server too much, they get no slot for some minutes
// (see costlyRate). After these minutes, the watches of pods that waited longer than unservedAfter begin without a
// position (see startWithoutPosition).
//
// Usually, a watch begins at an etcd revision from shortly before the pod arrived (see PodStarting). So the API server
// does not read older Events.
type Source struct {
	config Config
	// wake signals a change of the queue or of the slots. The capacity is 1, and senders drop a signal when the channel
	// is full.
	wake chan struct{}
	// rememberLimit is the maximum number of Events that a shared watch remembers. Tests use a lower limit.
	rememberLimit int
	jitter        time.Duration // maximum random wait: maxJitter, or less in tests
	// wideSample, crowdedSample and costlyRate equal the constants of the same names, except in tests.
	wideSample, crowdedSample int
	costlyRate                float64
	metrics                   metrics

	order atomic.Int64 // value of the field Order in the latest EventsWatched or EventsLost

	costsChanged chan struct{} // wakes checkCosts; capacity 1
	checked      position      // latest revision that checkCosts requested; only checkCosts uses this field

	sizing *semaphore.Weighted // held while the agent requests the size of a namespace; one holder at a time

	mu             sync.Mutex
	requests       map[string]*request  // by pod UID; one entry for each requested pod
	shared         map[string]*watcher  // by namespace; if Config.Cluster is true, the only key is ""
	endedPositions map[string]*position // positions of pods whose request ended, by pod UID
	wide           namespaceMarks       // namespaces whose pods do not share a watch
	crowded        namespaceMarks       // namespaces whose pods share a watch only if more than maxAlone are requested
	large          namespaceMarks       // namespaces with more than maxHistory Events
	costly         namespaceMarks       // namespaces without Event watches (see costlyRate)
	queue          watchQueue
	times          openTimes
	requestedAt    time.Time // time of the latest call of Watch that added a request
	// costs describes what open watches cost the API server; the keys are namespaces.
	costs map[string]*namespaceCost
	// revisions provides the positions at which watches begin.
	revisions revisions
	// listRefused is the reason why the API server refuses to list Events, or empty if the API server allows lists.
	// Without lists of Events, the agent does not know a recent revision. So a new watch begins with all existing
	// Events of its namespace.
	listRefused string
}

// New creates a source without open watches.
func New(config Config) *Source {
	if config.Limit <= 0 {
		config.Limit = DefaultWatches
	}
	s := &Source{
		config:        config,
		wake:          make(chan struct{}, 1),
		sizing:        semaphore.NewWeighted(1),
		costsChanged:  make(chan struct{}, 1),
		rememberLimit: maxRemembered,
		jitter:        maxJitter,

		wideSample:    wideSample,
		crowdedSample: crowdedSample,
		costlyRate:    costlyRate,

		requests:       map[string]*request{},
		shared:         map[string]*watcher{},
		endedPositions: map[string]*position{},
		wide:           namespaceMarks{},
		crowded:        namespaceMarks{},
		large:          namespaceMarks{},
		costly:         namespaceMarks{},
		costs:          map[string]*namespaceCost{},
		queue:          watchQueue{limit: config.Limit},
		times:          openTimes{open: map[*watcher]struct{}{}},

		revisions: newRevisions(),
	}
	// The same recording can contain order numbers from an earlier run of the agent. The counter starts at the current
	// time, so that its numbers are higher than the earlier numbers.
	s.order.Store(config.Now().UnixNano())
	s.metrics = newMetrics(config.Registerer, s)
	return s
}

// Run opens the requested watches until ctx is done. When ctx is done, Run waits until all watches are closed, and
// returns nil. The caller can call Run only once.
func (s *Source) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { s.takeSamples(ctx) })
	running.Go(func() { s.checkCosts(ctx) })
	s.config.Report(true, "idle")
	for {
		for {
			w, lease := s.giveSlot(ctx)
			if w == nil {
				break
			}
			running.Go(func() {
				s.keepOpen(ctx, lease, w)
				s.releaseSlot(w)
			})
		}
		overdue, next := s.waitingPods()
		if len(overdue) > 0 {
			running.Go(func() { s.reportWaiting(ctx, overdue) })
		}
		select {
		case <-s.wake:
		case <-next:
		case <-ctx.Done():
			return nil
		}
	}
}

// Watch requests the Events of a pod until the caller calls Unwatch. Watch does not block. Repeated calls have no
// effect. Watch is safe to call before Run and from any goroutine.
func (s *Source) Watch(w timeline.EventWatch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.requests[w.UID]; ok {
		return
	}
	p := newRequest(w, &s.order)
	p.requestedAt = s.config.Now()
	s.requestedAt = p.requestedAt
	if at, ok := s.endedPositions[w.UID]; ok {
		p.position = at
		delete(s.endedPositions, w.UID)
	}
	s.requests[w.UID] = p
	scope := s.scope(p)
	switch shared := s.shared[scope]; {
	case shared != nil:
		s.addToShared(shared, p)
		shared.refresh()
	case s.mustShare(scope):
		s.startShared(scope)
	default:
		s.enqueueOwn(p)
	}
	if p.shared == nil || !p.shared.isOpen() {
		s.requestSampleFor(p)
	}
	s.refresh()
}

// Unwatch ends the request for a pod's Events. Unwatch does not block. Observe can still receive an observation about
// the pod after Unwatch returns.
func (s *Source) Unwatch(uid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.requests[uid]
	if !ok {
		return
	}
	delete(s.requests, uid)
	now := s.config.Now()
	if !s.costly.has(p.watch.Namespace, now) { // in a costly namespace, later watches must not begin at old positions
		s.keepPosition(uid, p)
	}
	if !p.served.Load() && now.Sub(p.requestedAt) > unservedAfter && !s.costly.has(p.watch.Namespace, now) {
		s.metrics.unserved.Inc()
	}
	p.withdrawn.Store(true)
	s.stopOwn(p)
	shared := p.shared
	if shared == nil {
		return
	}
	shared.pods = slices.DeleteFunc(shared.pods, func(other *request) bool { return other == p })
	if len(shared.pods) > 0 || shared.isOpen() && s.successor() == nil {
		shared.refresh()
	} else {
		s.stopShared(shared) // a shared watch without pods must not make other watches wait
	}
}

// keepPosition remembers the revision up to which the agent has observed the pod's Events. A later request for the same
// pod continues from this revision.
func (s *Source) keepPosition(uid string, p *request) {
	if p.position == nil {
		return
	}
	if len(s.endedPositions) >= maxEndedPositions {
		clear(s.endedPositions)
	}
	s.endedPositions[uid] = p.position
}

// refresh makes Run check the queue.
func (s *Source) refresh() { signal(s.wake) }

// signal sends a signal to a channel of capacity 1. If the channel still contains an earlier signal, signal drops the
// new one.
func signal(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}
