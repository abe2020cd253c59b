package podwatch

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// maxSeen limits what is remembered of one pod's Events. The kubelet's own aggregation keeps a pod
// far below. Beyond the limit, an Event may be observed twice.
const maxSeen = 256

// want is one pod whose Events are wanted. Its own watch and a shared one may serve it at the same
// time, while one takes over from the other.
type want struct {
	watch    timeline.EventWatch
	unwanted atomic.Bool

	own, shared *follower // guarded by the lock of Events; nil if there is none

	// telling holds a token, capacity 1, while an observation is passed on: what one watch says
	// about the pod's Events must not come before an Event that another is passing on. It is not a
	// mutex, because it may be held for long. It is never waited for under the lock of Events. It
	// guards the fields below.
	telling  chan struct{}
	seen     map[uint64]uint64 // version by name, hashes of both: a new watch repeats what exists
	heard    bool              // an Event of this node's kubelet has arrived
	vouching []*follower       // open watches that have delivered all existing Events: at most two
}

func newWant(w timeline.EventWatch) *want {
	return &want{watch: w, telling: make(chan struct{}, 1), seen: map[uint64]uint64{}}
}

// tell observes an Event that is new or has changed; here says whether its source is this node. It
// returns false for an Event of another host after one of this node: the kubelet gives all its
// Events the same host, its node's name (kubernetes: cmd/kubelet/app, makeEventRecorder).
func (p *want) tell(key eventKey, seen timeline.EventSeen, here bool, observe func(timeline.Observation)) bool {
	p.telling <- struct{}{}
	defer func() { <-p.telling }()
	if p.heard && !here {
		return false
	}
	p.heard = here
	if known, ok := p.seen[key.name]; ok && known == key.version {
		return true
	}
	if len(p.seen) < maxSeen {
		p.seen[key.name] = key.version
	}
	seen.UID = p.watch.UID
	observe(seen)
	return true
}

// vouch observes EventsWatched, unless another watch already vouches for the pod.
func (p *want) vouch(f *follower, watched timeline.EventsWatched, observe func(timeline.Observation)) {
	p.telling <- struct{}{}
	defer func() { <-p.telling }()
	p.vouching = append(p.vouching, f)
	if len(p.vouching) == 1 && !p.unwanted.Load() {
		watched.UID = p.watch.UID
		observe(watched)
	}
}

// retract observes EventsLost if no other watch vouches for the pod and the pod is still wanted.
func (p *want) retract(ctx context.Context, f *follower, lost timeline.EventsLost, observe func(timeline.Observation)) {
	p.telling <- struct{}{}
	defer func() { <-p.telling }()
	p.vouching = slices.DeleteFunc(p.vouching, func(other *follower) bool { return other == f })
	if len(p.vouching) == 0 && !p.unwanted.Load() && ctx.Err() == nil {
		lost.UID = p.watch.UID
		observe(lost)
	}
}
