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
	// served is true if a watch has delivered an Event about the pod, or has delivered all existing Events.
	served atomic.Bool

	// The lock of Source guards position and arrivedAt. While position is nil, the point at which a watch must begin is
	// unknown. arrivedAt is zero if no sample of the API server's revision can provide the position. For example, the
	// pod arrived long ago, so a new sample might be later than the pod's first Events.
	position  *position
	arrivedAt time.Time

	own, shared *watcher // watches of the request, or nil; guarded by the lock of Source

	// The lock of Source guards waitsSince and waitReported. waitsSince is the start of the pod's current wait for a
	// slot, or zero. waitReported is true if EventsLost has reported that the pod waits for a slot.
	waitsSince   time.Time
	waitReported bool

	// delivering is a channel of capacity 1 that serializes the observations of the pod's watches. A watch puts a token
	// into the channel before each observation and takes the token out afterwards. So while one of the pod's watches
	// delivers an Event, the other watch cannot report that all Events have arrived. A watch holds the token while
	// Config.Observe blocks, which can take long. So a goroutine that holds the lock of Source must not wait for the
	// token. delivering is a channel and not a mutex because of the tests: testing/synctest does not advance the time
	// of a bubble while a goroutine waits for a mutex. A goroutine must hold the token to use the fields below.
	delivering   chan struct{}
	seen         map[uint64]uint64 // hash of an Event's version, by the hash of the Event's name; detects repeats
	sawNodeEvent bool              // an Event of this node's kubelet has arrived
	confirming   []*watcher        // open watches that have delivered all existing Events; at most two
	order        *atomic.Int64     // counter for EventsWatched.Order and EventsLost.Order; all pods share it
}

func newRequest(w timeline.EventWatch, order *atomic.Int64) *request {
	return &request{watch: w, arrivedAt: w.ArrivedAt, delivering: make(chan struct{}, 1), seen: map[uint64]uint64{},
		order: order}
}

// deliver observes an Event that is new or has changed. The parameter fromNode is true if the Event's host is this
// node. After the first Event from this node about the pod, deliver ignores Events of other hosts and returns false. A
// kubelet writes the same host into all its Events: the name of its node (kubernetes: cmd/kubelet/app,
// makeEventRecorder).
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

// reportWatched records that a watch has delivered all existing Events. If no other open watch of the pod has delivered
// all existing Events, reportWatched reports EventsWatched.
func (r *request) reportWatched(w *watcher, watched timeline.EventsWatched, observe func(timeline.Observation)) {
	r.delivering <- struct{}{}
	defer func() { <-r.delivering }()
	r.served.Store(true)
	r.confirming = append(r.confirming, w)
	if len(r.confirming) == 1 && !r.withdrawn.Load() {
		watched.UID, watched.Order = r.watch.UID, r.order.Add(1)
		observe(watched)
	}
}

// reportWaiting reports the observation in the argument "lost" if the core still requests the pod's Events but no open
// watch covers the pod.
func (r *request) reportWaiting(lost timeline.EventsLost, observe func(timeline.Observation)) {
	r.delivering <- struct{}{}
	defer func() { <-r.delivering }()
	if len(r.confirming) == 0 && !r.withdrawn.Load() {
		lost.UID, lost.Order = r.watch.UID, r.order.Add(1)
		observe(lost)
	}
}

// reportLoss reports EventsLost if the core still requests the pod's Events but no other open watch covers the pod.
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
