package podwatch

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// maxSeen bounds what is remembered of one pod's Events. Kubelet's own aggregation keeps a pod far
// below; beyond, an Event may be observed twice.
const maxSeen = 256

// want is one pod whose Events are wanted. Its own watch and a shared one may serve it at the same time,
// while one takes over from the other.
type want struct {
	watch    timeline.EventWatch
	unwanted atomic.Bool

	own, shared *follower // guarded by the lock of Events; nil where there is none

	// telling holds a token, capacity 1, while an observation is handed over: what one watch says of the pod's
	// Events must not come before an Event that another is handing over. It is no mutex since it may be held
	// for long, and never waited for under the lock of Events. It guards what follows.
	telling  chan struct{}
	seen     map[uint64]uint64 // version by name, hashes of both: a new watch repeats what exists
	heard    bool              // an Event of this node's kubelet has come
	vouching []*follower       // watches that have told all there was and are open: at most two
}

func newWant(w timeline.EventWatch) *want {
	return &want{watch: w, telling: make(chan struct{}, 1), seen: map[uint64]uint64{}}
}

// tell observes an Event that is new or has changed; here says that it names this node as its source. It returns false
// for an Event of another host after one of this node's: kubelet gives all its Events the same host, its node's name
// (kubernetes: cmd/kubelet/app, makeEventRecorder).
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

// retract observes EventsLost when a watch that vouched for the pod was the last to do so and is missed.
func (p *want) retract(ctx context.Context, f *follower, lost timeline.EventsLost, observe func(timeline.Observation)) {
	p.telling <- struct{}{}
	defer func() { <-p.telling }()
	p.vouching = slices.DeleteFunc(p.vouching, func(other *follower) bool { return other == f })
	if len(p.vouching) == 0 && !p.unwanted.Load() && ctx.Err() == nil {
		lost.UID = p.watch.UID
		observe(lost)
	}
}
