// Package reconcile owns what the agent knows. One goroutine, the one in Run, applies observations
// to the evidence of each pod, passes the timeline's requests to the sources, and reports every
// settled timeline once. It imports no source and no exporter: cmd/agent connects them through
// interfaces and reports.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	// inboxCapacity is how many observations may wait. A source that finds the inbox full waits
	// too.
	inboxCapacity = 256
	// tick is how often starting pods are checked for requests that depend on time. Without starting
	// pods, there is no tick.
	tick = time.Second
	// maxGone limits how many static pods with removed mirrors are remembered; the oldest are
	// forgotten first.
	maxGone = 128
)

// Config configures a Reconciler. No function or method may block. All but Now are called on its goroutine.
type Config struct {
	Now     func() time.Time
	Scope   timeline.Scope
	Sources Sources
	Follow  Follow
	// Report gets every report, in the order of the constants of ReportKind for one pod.
	Report func(Report)
	// Restored is the state that a previous agent left. Keeper, if set, keeps the same for the next one.
	Restored Restored
	Keeper   Keeper
	Logger   *zap.Logger
	// Registerer gets podlapse_evidence_reconstructed_total; nil for none.
	Registerer prometheus.Registerer
}

// Sources answer requests with observations.
type Sources interface {
	// AskRuntime requests one timeline.RuntimeSeen about the pod. Repeating a question is harmless.
	AskRuntime(timeline.LookUp)
	// WatchEvents and UnwatchEvents begin and end the stream of timeline.EventSeen about a pod.
	WatchEvents(timeline.EventWatch)
	UnwatchEvents(uid string)
	// SampleNode turns sampling of the node's pressure and its runtime on or off. It is called when the first pod
	// begins to start, and when no pod is starting any more.
	SampleNode(wanted bool)
}

// Follow selects what is reported apart from start-ups.
type Follow struct {
	Partial      bool // start-ups in progress
	Terminations bool // of pods whose deletion request the agent sees
	PostStartup  bool // what happens to a pod after its start-up: container runs that ended
	// Events adds the kubelet's Events to PostStartup. The Events of every pod are watched then.
	Events bool
}

// Keeper keeps what the next agent needs.
type Keeper interface {
	// Keep gets observations of start-ups that are to be reported, and whether they were new (timeline.Evidence.Apply).
	Keep(o timeline.Observation, news bool)
	// KeepEnd gets observations of terminations, and whether they were new (timeline.TerminationEvidence.Apply).
	KeepEnd(o timeline.Observation, news bool)
	// Kept reports whether the next agent will find the pod's start-up in flight, whatever happens
	// now. It is called when Run ends. Start-ups for which it returns false are settled then.
	Kept(uid string) bool
	// EventsUntil gets the next agent's Restored.EventsUntil.
	EventsUntil(time.Time)
	// Gone gets the UIDs of removed pods, after they were reported as Settled.
	Gone(uid string)
}

// ReportKind says what a Report is about.
type ReportKind uint8

// The kinds of reports.
const (
	// Changed: the pod changed, so Some would return a different timeline, not only a later time. Only the UID of the
	// timeline is set. It is reported often, so it must cost little.
	Changed ReportKind = iota
	// Partial: a start-up in progress changed. At most one per pod and second; changes within the
	// second are reported together at its end.
	Partial
	// Settled: the agent saw a start-up end. Exactly one per start-up.
	Settled
	// EphemeralPulled: everything is known about the pulls for ephemeral containers, in
	// Timeline.EphemeralPulls. Those during a start-up are in its Settled report as well.
	EphemeralPulled
	// PostStartup: something happened after the start-up (Report.PostStartup). No Event is older
	// than the latest one that was reported, nor older than Restored.EventsUntil.
	PostStartup
	// Terminated: the object of a pod was removed, and the agent had seen its deletion request (Timeline.Termination).
	Terminated
	// Forgotten: a pod was removed.
	Forgotten
)

// Report is a change in the Reconciler's data about one pod.
type Report struct {
	Kind        ReportKind
	Timeline    timeline.Timeline
	PostStartup timeline.PostStartup // of the kind PostStartup
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

// New creates a Reconciler. It does nothing before Run. It panics if its metric is already
// registered.
func New(config Config) *Reconciler {
	return &Reconciler{
		config:  config,
		inbox:   make(chan timeline.Observation, inboxCapacity),
		queries: make(chan func()),
		stopped: make(chan struct{}),
		pods:    map[string]*pod{},

		reconstructed: newReconstructed(config.Registerer),
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

// Run continues with the restored evidence and owns all evidence until ctx ends. Then it applies the observations in
// the inbox, settles completed start-ups without waiting for late evidence, unless they are left to the next agent, and
// returns nil.
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

// EventsUsed returns how many observed Events have added evidence to a start-up so far. It may be called from any
// goroutine.
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
