// Package reconcile owns what the agent knows. One goroutine, the one in Run, applies observations to
// the evidence of each pod, carries the timeline's wants to the sources, and hands out every settled
// timeline once. It imports no source and no exporter: cmd/agent connects them by functions.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	// inboxCapacity is how many observations may wait; a source that finds the inbox full waits too.
	inboxCapacity = 256
	// tick is how often pods that start are looked at for wants that time brings up. No pod starting,
	// no tick.
	tick = time.Second
	// maxGone bounds how many static pods whose mirrors are gone are remembered; the oldest leave first.
	maxGone = 128
)

// Config connects a Reconciler. No function may block: all but Now run on its goroutine.
type Config struct {
	Now   func() time.Time
	Scope timeline.Scope
	// AskRuntime asks for one timeline.RuntimeSeen about the pod; repeating a question is harmless.
	AskRuntime func(timeline.LookUp)
	// WatchEvents and UnwatchEvents begin and end the stream of timeline.EventSeen about a pod.
	WatchEvents   func(timeline.EventWatch)
	UnwatchEvents func(uid string)
	// SampleNode, if set, is called when the first pod begins to start, and when none does any more: whether samples of
	// the node, of its pressure and of its runtime, are of use.
	SampleNode func(wanted bool)
	// Settled gets every start-up that the agent saw end, exactly once.
	Settled func(timeline.Timeline)
	// Debugged, if set, gets the pulls for ephemeral containers, in Timeline.Debug, once all is known of them; of a
	// start-up that is not over by then Settled has them as well.
	Debugged func(timeline.Timeline)
	// Terminated, if set, gets every pod whose deletion the agent saw asked for, once its object is
	// gone, with Timeline.Termination, after Settled. Without it ends are not followed.
	Terminated func(timeline.Timeline)
	// Later, if set, gets what happens to a pod after its start-up, with Timeline.Later, after
	// Settled: a container's run that ended, and, with LaterEvents, what kubelet says, for which
	// the Events of every pod are watched. It gets no Event that is older than the latest one that
	// it got, nor one older than Restored.EventsUntil.
	Later       func(timeline.Timeline)
	LaterEvents bool
	// Progress, if set, gets start-ups of which Settled is not called yet and that have changed, each at most once a
	// second and marked as partial. What follows within the second is told together when it is over.
	Progress func(timeline.Timeline)
	// Changed, if set, is told of pods of which Some would tell something new, apart from the time.
	// It is cheap to call often.
	Changed func(uid string)
	// Forgotten, if set, gets the timeline of each pod that no longer exists, after Settled.
	Forgotten func(timeline.Timeline)
	Logger    *zap.Logger

	// Restored is what an agent before this one left.
	Restored Restored
	// Keep, if set, is told what an agent after this one needs to go on: what was observed of start-ups that
	// are to be reported, and whether that was news (timeline.Evidence.Apply).
	Keep func(o timeline.Observation, news bool)
	// KeepEnd, if set, is told what an agent after this one needs to go on with the end of a pod,
	// and whether that was news (timeline.Ending.Apply).
	KeepEnd func(o timeline.Observation, news bool)
	// Kept, if set, says that the agent after this one will find the pod's start-up in flight,
	// whatever happens now. It is asked when Run ends, and what it denies is settled then.
	Kept func(uid string) bool
	// KeepEventsUntil, if set, is told of what is to be Restored.EventsUntil.
	KeepEventsUntil func(time.Time)
	// Gone, if set, is told of pods that no longer exist, after Settled.
	Gone func(uid string)
}

// Reconciler is the only owner of evidence.
type Reconciler struct {
	config  Config
	inbox   chan timeline.Observation
	queries chan func()
	stopped chan struct{}

	eventsUsed    atomic.Uint64
	reconstructed reconstructed

	// Of the goroutine in Run only.
	clocks   timeline.Clocks
	pulls    timeline.PullLog
	silences timeline.SilenceLog
	pressure timeline.PressureLog
	pods     map[string]*pod
	starting int
	mirrors  []string // start-ups of static pods whose mirrors are gone, by ID
	followed int      // pods whose ephemeral containers are followed
	endings  int      // pods whose end is followed

	eventsUntil time.Time       // when kubelet said what Later got last
	reported    map[string]bool // pods that were reported before this agent and that it has not seen yet
	told        told
}

// errStopped answers queries after Run returned.
var errStopped = errors.New("the agent is stopping")

// New makes a Reconciler; nothing happens before Run.
func New(config Config) *Reconciler {
	return &Reconciler{
		config:  config,
		inbox:   make(chan timeline.Observation, inboxCapacity),
		queries: make(chan func()),
		stopped: make(chan struct{}),
		pods:    map[string]*pod{},
	}
}

// Observe hands in an observation. It waits while the inbox is full, until ctx ends or Run returned.
func (r *Reconciler) Observe(ctx context.Context, o timeline.Observation) {
	select {
	case r.inbox <- o:
	case <-ctx.Done():
	case <-r.stopped:
	}
}

// Run goes on with what was restored and owns the evidence until ctx ends; then it applies what already
// waits in the inbox, settles every pod whose start-up is over without waiting for late evidence, but for what is
// left to the agent after this one, and returns nil.
func (r *Reconciler) Run(ctx context.Context) error {
	defer close(r.stopped)
	r.restore()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		var ticks <-chan time.Time
		if r.starting+r.followed+r.endings > 0 {
			ticks = ticker.C
		}
		select {
		case <-ctx.Done():
			r.drain()
			r.settleEnded()
			return nil
		case o := <-r.inbox:
			r.told = told{}
			r.observe(o)
		case answer := <-r.queries:
			answer()
		case <-ticks:
			r.told = told{}
			for _, p := range r.pods {
				r.advanceDebug(p)
				r.advanceEnding(p)
				r.advance(p)
				r.tellProgress(p)
			}
		}
	}
}

func (r *Reconciler) drain() {
	for {
		select {
		case o := <-r.inbox:
			r.observe(o)
		default:
			return
		}
	}
}

// Skew tells how far the control plane's clock is ahead of the node's.
func (r *Reconciler) Skew(ctx context.Context) (timeline.Skew, error) {
	return ask(ctx, r, "clock skew", r.clocks.Skew)
}

// EventsUsed is how many of the observed Events were news to a start-up so far. It may be called from any
// goroutine.
func (r *Reconciler) EventsUsed() uint64 { return r.eventsUsed.Load() }

// Present tells of the pods that are on the node, by namespace and name, the latest of a name first.
func (r *Reconciler) Present(ctx context.Context) ([]timeline.Timeline, error) {
	return ask(ctx, r, "pods that are there", func() []timeline.Timeline {
		return r.tell(func(*pod) bool { return true })
	})
}

// Some tells of those of the pods that are on the node, in no particular order.
func (r *Reconciler) Some(ctx context.Context, uids []string) ([]timeline.Timeline, error) {
	return ask(ctx, r, "some pods", func() []timeline.Timeline {
		some := make([]timeline.Timeline, 0, len(uids))
		now, skew := r.config.Now(), r.clocks.Skew()
		for _, uid := range uids {
			if p := r.pods[uid]; p != nil {
				if t, ok := r.timelineWith(p, now, skew); ok {
					some = append(some, t)
				}
			}
		}
		return some
	})
}

// ask has the goroutine in Run answer.
func ask[A any](ctx context.Context, r *Reconciler, what string, query func() A) (A, error) {
	answer := make(chan A, 1)
	var err error
	select {
	case r.queries <- func() { answer <- query() }:
		return <-answer, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-r.stopped:
		err = errStopped
	}
	var none A
	return none, fmt.Errorf("get %s: %w", what, err)
}

// tell makes the timelines of some of the pods.
func (r *Reconciler) tell(of func(*pod) bool) []timeline.Timeline {
	some := make([]*pod, 0, len(r.pods))
	for _, p := range r.pods {
		if of(p) {
			some = append(some, p)
		}
	}
	all := make([]timeline.Timeline, 0, len(some))
	now, skew := r.config.Now(), r.clocks.Skew()
	for _, p := range some {
		if t, ok := r.timelineWith(p, now, skew); ok {
			all = append(all, t)
		}
	}
	return timeline.Sorted(all)
}
