package eventwatch

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// maxSeen limits what is remembered of one pod's Events. The kubelet's own aggregation keeps the number for a pod far
// below. Beyond the limit, an Event may be observed twice.
const maxSeen = 256

// request is a request for the Events of one pod. The pod's own watch and a shared one may serve it at
// the same time, while one takes over from the other.
type request struct {
	watch     timeline.EventWatch
	withdrawn atomic.Bool

	own, shared *follower // guarded by the lock of Source; nil if there is none

	// delivering holds a token, capacity 1, while an observation is passed on: a statement of one watch about the pod's
	// Events must not overtake an Event that another watch is passing on. It is not a mutex, because it may be held for
	// long. Nothing waits for it while holding the lock of Source. It guards the fields below.
	delivering chan struct{}
	seen       map[uint64]uint64 // version by name, hashes of both: a new watch repeats what exists
	heard      bool              // an Event of this node's kubelet has arrived
	vouching   []*follower       // open watches that have delivered all existing Events: at most two
}

func newRequest(w timeline.EventWatch) *request {
	return &request{watch: w, delivering: make(chan struct{}, 1), seen: map[uint64]uint64{}}
}

// deliver observes an Event that is new or has changed; here is true if its source is this node. It returns false for
// an Event of another host after one of this node: the kubelet gives all its Events the same host, its node's name
// (kubernetes: cmd/kubelet/app, makeEventRecorder).
func (r *request) deliver(key eventKey, seen timeline.EventSeen, here bool, observe func(timeline.Observation)) bool {
	r.delivering <- struct{}{}
	defer func() { <-r.delivering }()
	if r.heard && !here {
		return false
	}
	r.heard = here
	if known, ok := r.seen[key.name]; ok && known == key.version {
		return true
	}
	if len(r.seen) < maxSeen {
		r.seen[key.name] = key.version
	}
	seen.UID = r.watch.UID
	observe(seen)
	return true
}

// vouch observes EventsWatched, unless another watch already has.
func (r *request) vouch(f *follower, watched timeline.EventsWatched, observe func(timeline.Observation)) {
	r.delivering <- struct{}{}
	defer func() { <-r.delivering }()
	r.vouching = append(r.vouching, f)
	if len(r.vouching) == 1 && !r.withdrawn.Load() {
		watched.UID = r.watch.UID
		observe(watched)
	}
}

// retract observes EventsLost if no other open watch covers the pod and the pod is still requested.
func (r *request) retract(
	ctx context.Context, f *follower, lost timeline.EventsLost, observe func(timeline.Observation),
) {
	r.delivering <- struct{}{}
	defer func() { <-r.delivering }()
	r.vouching = slices.DeleteFunc(r.vouching, func(other *follower) bool { return other == f })
	if len(r.vouching) == 0 && !r.withdrawn.Load() && ctx.Err() == nil {
		lost.UID = r.watch.UID
		observe(lost)
	}
}
