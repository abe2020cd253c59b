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
	seen     map[string]string // resource version by Event name: a new watch repeats what exists
	vouching []*follower       // watches that have told all there was and are open: at most two
}

func newWant(w timeline.EventWatch) *want {
	return &want{watch: w, telling: make(chan struct{}, 1), seen: map[string]string{}}
}

// tell observes an Event that is new or has changed.
func (p *want) tell(name, version string, seen timeline.EventSeen, observe func(timeline.Observation)) {
	p.telling <- struct{}{}
	defer func() { <-p.telling }()
	if known, ok := p.seen[name]; ok && known == version {
		return
	}
	if len(p.seen) < maxSeen {
		p.seen[name] = version
	}
	seen.UID = p.watch.UID
	observe(seen)
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
