package eventwatch

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// maxSeen limits the number of remembered Events of one pod. The kubelet aggregates Events, so a pod has far fewer
// Events than maxSeen. If a pod has more Events than maxSeen, the agent can observe an Event twice.
const maxSeen = 256

// request is a request for the Events of one pod. While a pod changes from its own watch to a shared watch or back,
// both watches serve the request.
type request struct {
	watch       timeline.EventWatch
	requestedAt time.Time
	withdrawn   atomic.Bool
	// served is true if a watch has delivered an Event about the pod, or all existing Events.
	served atomic.Bool

	// The lock of Source guards position and arrivedAt. position is nil while the revision at which a watch must begin
	// is unknown. arrivedAt is zero if no sample of the API server's revision (see type revisions) can provide the
	// position. For example, if the pod arrived long ago, a new sample might be newer than the pod's first Events.
	position  *position
	arrivedAt time.Time
	readAgain bool // set once the agent decides to read all existing Events again; guarded by the lock of Source

	own, shared *watcher // own watch and shared watch of the pod, or nil; guarded by the lock of Source

	// The lock of Source guards waitsSince and waitReported. waitsSince is the time at which the pod began to wait for
	// a slot (see watchQueue), or zero. waitReported is true if waitingPods has already returned the pod during this
	// wait.
	waitsSince   time.Time
	waitReported bool

	// delivering is a channel of capacity 1 that the pod's watches use like a mutex. A watch puts a token into the
	// channel before each observation and takes the token out afterwards. So while one of the pod's watches delivers an
	// Event, the other watch cannot report that all Events have arrived. Config.Observe can block for a long time while
	// a watch holds the token. So a goroutine that holds the lock of Source must not wait for the token. The tests need
	// a channel instead of a mutex. While a goroutine of a synctest bubble waits for a mutex, testing/synctest does not
	// advance the bubble's time. A goroutine must hold the token to use the fields below.
	delivering   chan struct{}
	seen         map[uint64]uint64 // key: hash of an Event's name; value: hash of its version; detects repeats
	sawNodeEvent bool              // an Event of this node's kubelet has arrived
	confirming   []*watcher        // open watches that have delivered all existing Events; at most two
	order        *atomic.Int64     // provides EventsWatched.Order and EventsLost.Order; all pods share this counter
}

func newRequest(w timeline.EventWatch, order *atomic.Int64) *request {
	return &request{watch: w, arrivedAt: w.ArrivedAt, delivering: make(chan struct{}, 1), seen: map[uint64]uint64{},
		order: order}
}

// forgetPosition makes the pod's next watch begin without a known revision. The caller must hold the lock of Source.
func (r *request) forgetPosition() { r.position, r.arrivedAt = nil, time.Time{} }

// If an Event is new or has changed, deliver passes the Event to the function observe. The parameter fromNode is true
// if the Event's host is this node. If an earlier Event about the pod contained this node as the host, deliver ignores
// Events with other hosts and returns false. A kubelet writes the name of its node as the host into all its Events
// (kubernetes: cmd/kubelet/app, makeEventRecorder).
func (r *request) deliver(
	key eventKey, seen timeline.EventSeen, fromNode bool, observe func(timeline.Observation),
) bool {
	r.delivering <- struct{}{}
	defer func() { <-r.delivering }()
	if r.sawNodeEvent && !fromNode {
		return false
	}
	r.sawNodeEvent = fromNode
	if known, ok := r.seen[key.name]; ok && known == key.version {
		return true
	}
	if len(r.seen) < maxSeen {
		r.seen[key.name] = key.version
	}
	seen.UID = r.watch.UID
	r.served.Store(true)
	observe(seen)
	return true
}

// reportWatched records that a watch has delivered all existing Events. If another open watch of the pod has already
// delivered all existing Events, reportWatched reports nothing. If Unwatch has ended the request, reportWatched also
// reports nothing. In all other cases, reportWatched reports EventsWatched.
func (r *request) reportWatched(w *watcher, watched timeline.EventsWatched, observe func(timeline.Observation)) {
	r.delivering <- struct{}{}
	defer func() { <-r.delivering }()
	if !watched.Limited { // a limited watch has not delivered the earlier Events
		r.served.Store(true)
	}
	r.confirming = append(r.confirming, w)
	if len(r.confirming) == 1 && !r.withdrawn.Load() {
		watched.UID, watched.Order = r.watch.UID, r.order.Add(1)
		observe(watched)
	}
}

// reportWaiting passes the parameter "lost" to the function observe. If an open watch covers the pod, or if Unwatch has
// ended the request, reportWaiting does nothing.
func (r *request) reportWaiting(lost timeline.EventsLost, observe func(timeline.Observation)) {
	r.delivering <- struct{}{}
	defer func() { <-r.delivering }()
	if len(r.confirming) == 0 && !r.withdrawn.Load() {
		lost.UID, lost.Order = r.watch.UID, r.order.Add(1)
		observe(lost)
	}
}

// reportLoss records that the watch w no longer covers the pod, and reports EventsLost. If another open watch covers
// the pod, if Unwatch has ended the request, or if ctx is done, reportLoss does not report EventsLost.
func (r *request) reportLoss(
	ctx context.Context, w *watcher, lost timeline.EventsLost, observe func(timeline.Observation),
) {
	r.delivering <- struct{}{}
	defer func() { <-r.delivering }()
	r.confirming = slices.DeleteFunc(r.confirming, func(other *watcher) bool { return other == w })
	if len(r.confirming) == 0 && !r.withdrawn.Load() && ctx.Err() == nil {
		lost.UID, lost.Order = r.watch.UID, r.order.Add(1)
		observe(lost)
	}
}
