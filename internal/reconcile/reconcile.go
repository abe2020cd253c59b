// Package reconcile owns what the agent knows. One goroutine, the one in Run, applies observations
// to the evidence of each pod, passes the timeline's wants to the sources, and reports every
// settled timeline once. It imports no source and no exporter: cmd/agent connects them by
// functions.
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
	// inboxCapacity is how many observations may wait. A source that finds the inbox full waits
	// too.
	inboxCapacity = 256
	// tick is how often starting pods are checked for wants that depend on time. Without starting
	// pods, there is no tick.
	tick = time.Second
	// maxGone limits how many static pods with removed mirrors are remembered; the oldest are
	// forgotten first.
	maxGone = 128
)

// Config connects a Reconciler. No function may block. All but Now are called on its goroutine.
type Config struct {
	Now   func() time.Time
	Scope timeline.Scope
	// AskRuntime requests one timeline.RuntimeSeen about the pod. Repeating a question is harmless.
	AskRuntime func(timeline.LookUp)
	// WatchEvents and UnwatchEvents begin and end the stream of timeline.EventSeen about a pod.
	WatchEvents   func(timeline.EventWatch)
	UnwatchEvents func(uid string)
	// SampleNode, if set, is called when the first pod begins to start, and when none is starting
	// any more: wanted says whether to sample the node's pressure and its runtime.
	SampleNode func(wanted bool)
	// Settled gets every start-up that the agent saw end, exactly once.
	Settled func(timeline.Timeline)
	// EphemeralPulled, if set, gets the pulls for ephemeral containers, in Timeline.EphemeralPulls, once everything
	// about them is known. For a start-up in progress at that time, Settled gets them as well.
	EphemeralPulled func(timeline.Timeline)
	// Terminated, if set, gets every pod whose deletion request the agent saw, once its object was
	// removed, with Timeline.Termination, after Settled. If it is nil, ends are not followed.
	Terminated func(timeline.Timeline)
	// PostStartup, if set, gets what happens to a pod after its start-up, with Timeline.PostStartup, after
	// Settled: a container's run that ended and, with PostStartupEvents, the kubelet's Events, for which
	// the Events of every pod are watched. It gets no Event that is older than the latest one that
	// it got, nor one older than Restored.EventsUntil.
	PostStartup       func(timeline.Timeline)
	PostStartupEvents bool
	// Progress, if set, gets changed start-ups before Settled, each at most once a second and
	// marked as partial. Changes within the second are reported together at its end.
	Progress func(timeline.Timeline)
	// Changed, if set, gets the UIDs of pods about which Some would return something new, apart
	// from the time. It must be cheap: it is called often.
	Changed func(uid string)
	// Forgotten, if set, gets the timeline of each removed pod, after Settled.
	Forgotten func(timeline.Timeline)
	Logger    *zap.Logger

	// Restored is what a previous agent left.
	Restored Restored
	// Keep, if set, gets what the next agent needs to continue: observations of start-ups that are
	// to be reported, and whether they were news (timeline.Evidence.Apply).
	Keep func(o timeline.Observation, news bool)
	// KeepEnd, if set, gets what the next agent needs to continue with the end of a pod, and
	// whether that was news (timeline.TerminationEvidence.Apply).
	KeepEnd func(o timeline.Observation, news bool)
	// Kept, if set, reports whether the next agent will find the pod's start-up in flight, whatever
	// happens now. It is called when Run ends. Start-ups for which it returns false are settled
	// then.
	Kept func(uid string) bool
	// KeepEventsUntil, if set, gets the next agent's Restored.EventsUntil.
	KeepEventsUntil func(time.Time)
	// Gone, if set, gets the UIDs of removed pods, after Settled.
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

	// Used only by the goroutine in Run.
	clocks       timeline.Clocks
	pulls        timeline.PullLog
	silences     timeline.SilenceLog
	pressure     timeline.PressureLog
	pods         map[string]*pod
	starting     int
	mirrors      []string // start-ups of static pods with removed mirrors, by ID
	followed     int      // pods whose ephemeral containers are followed
	terminations int      // pods whose end is followed

	eventsUntil    time.Time       // the time of the latest kubelet Event that PostStartup got
	reported       map[string]bool // pods reported by a previous agent that this one has not seen yet
	cachedStarting cachedStarting
}

// errStopped answers queries after Run returned.
var errStopped = errors.New("the agent is stopping")

// New creates a Reconciler. It does nothing before Run.
func New(config Config) *Reconciler {
	return &Reconciler{
		config:  config,
		inbox:   make(chan timeline.Observation, inboxCapacity),
		queries: make(chan func()),
		stopped: make(chan struct{}),
		pods:    map[string]*pod{},
	}
}

// Observe passes in an observation. While the inbox is full, it waits until ctx ends or Run has
// returned.
func (r *Reconciler) Observe(ctx context.Context, o timeline.Observation) {
	select {
	case r.inbox <- o:
	case <-ctx.Done():
	case <-r.stopped:
	}
}

// Run continues with what was restored and owns the evidence until ctx ends. Then it applies what
// waits in the inbox, settles every pod whose start-up is over without waiting for late evidence,
// except what is left to the next agent, and returns nil.
func (r *Reconciler) Run(ctx context.Context) error {
	defer close(r.stopped)
	r.restore()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		var ticks <-chan time.Time
		if r.starting+r.followed+r.terminations > 0 {
			ticks = ticker.C
		}
		select {
		case <-ctx.Done():
			r.drain()
			r.settleEnded()
			return nil
		case o := <-r.inbox:
			r.cachedStarting = cachedStarting{}
			r.observe(o)
		case answer := <-r.queries:
			answer()
		case <-ticks:
			r.cachedStarting = cachedStarting{}
			for _, p := range r.pods {
				r.advanceEphemeral(p)
				r.advanceTermination(p)
				r.advance(p)
				r.reportProgress(p)
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

// Skew returns the lead of the control plane's clock over the node's.
func (r *Reconciler) Skew(ctx context.Context) (timeline.Skew, error) {
	return ask(ctx, r, "clock skew", r.clocks.Skew)
}

// EventsUsed returns how many observed Events were news to a start-up so far. It may be called from
// any goroutine.
func (r *Reconciler) EventsUsed() uint64 { return r.eventsUsed.Load() }

// Present returns the pods on the node, by namespace and name, the latest of a name first.
func (r *Reconciler) Present(ctx context.Context) ([]timeline.Timeline, error) {
	return ask(ctx, r, "pods that are there", func() []timeline.Timeline {
		return r.timelinesOf(func(*pod) bool { return true })
	})
}

// Some returns those of the pods that are on the node, in no particular order.
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

// ask runs query on the goroutine in Run.
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

// timelinesOf returns the timelines of the pods for which of is true.
func (r *Reconciler) timelinesOf(of func(*pod) bool) []timeline.Timeline {
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
