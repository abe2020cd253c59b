// Package reconcile owns all evidence of the agent. Evidence consists of facts from the sources' observations. The
// goroutine in Run applies observations to the evidence of each pod and requests missing evidence from the sources. The
// goroutine in Run also reports each settled timeline at most once. The package imports no source and no exporter.
// cmd/agent connects the sources to the package through interfaces. cmd/agent also passes the package's reports to the
// exporters.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/pulse"
	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	// inboxCapacity is the maximum number of observations that wait for Run. If the inbox is full, the source waits.
	inboxCapacity = 256
	// tick is the interval at which Run checks all pods. Run checks pods only while the Reconciler follows at least one
	// start-up, termination, or ephemeral container.
	tick = time.Second
	// maxGone is the maximum number of removed mirror pods that the Reconciler remembers. At the limit, the Reconciler
	// forgets the mirror pod that was removed first.
	maxGone = 128
)

// Config configures a Reconciler. The functions and methods in a Config must not block. Only New calls the methods of
// Registerer. Only the goroutine in Run calls the functions and methods of the other fields.
type Config struct {
	Now      func() time.Time
	Scope    timeline.Scope
	Sources  Sources
	Optional Optional
	// Report receives every report. The reports about one pod have this order: Partial, Settled, PostStartup,
	// Terminated, Forgotten. Reports of kind Changed or EphemeralPulled can come at any time before the report
	// Forgotten.
	Report func(Report)
	// Restored is the state that a previous agent saved. Saver saves the state for the next agent. If Saver is nil,
	// the Reconciler saves nothing.
	Restored Restored
	Saver    Saver
	Logger   *zap.Logger
	// Registerer registers podlapse_evidence_reconstructed_total. If Registerer is nil, the metric is not registered.
	Registerer prometheus.Registerer
}

// Sources respond to requests with observations.
type Sources interface {
	// RequestRuntime requests one timeline.RuntimeSeen about the pod. Repeated requests are harmless.
	RequestRuntime(timeline.RuntimeRequest)
	// PodStarting announces a pod that has just arrived. After PodStarting, the Reconciler can call WatchEvents for the
	// announced pod.
	PodStarting()
	// WatchEvents starts the stream of timeline.EventSeen about a pod, and UnwatchEvents ends the stream.
	WatchEvents(timeline.EventWatch)
	UnwatchEvents(uid string)
	// SampleNode turns the sampling of the node's pressure and runtime on or off. The Reconciler keeps the sampling on
	// while at least one pod is starting.
	SampleNode(wanted bool)
}

// Optional selects the optional kinds of reports.
type Optional struct {
	Partial      bool // true to report start-ups in progress
	Terminations bool // true to report terminations; the agent must have seen the deletion request of the pod
	PostStartup  bool // true to report container runs that end after the start-up
	// Events adds the kubelet's Events to the PostStartup reports. If Events is true, the agent watches the Events of
	// every pod.
	Events bool
}

// Saver saves the data that the next agent needs.
type Saver interface {
	// Observe receives each observation of a start-up that the agent must report. The argument "news" is true if the
	// observation was new (timeline.Evidence.Apply). Observe also receives each timeline.RuntimeSilent and each
	// timeline.ClockSet.
	Observe(o timeline.Observation, news bool)
	// ObserveTermination receives the observations of a pod's termination, but only after the pod's start-up is settled
	// or reported. ObserveTermination does not receive an observation if the next agent can get the same facts from the
	// runtime. The argument "news" is true if the observation was new (timeline.TerminationEvidence.Apply).
	ObserveTermination(o timeline.Observation, news bool)
	// Saved reports whether the saved state already contains the pod's start-up. If Saved returns true, the next agent
	// can settle the start-up. When Run stops, it calls Saved for each completed start-up that still needs a response
	// from the runtime. If Saved returns false, Run settles the start-up.
	Saved(uid string) bool
	// SetEventsUntil receives the time of the latest reported kubelet Event. The next agent gets this time in
	// Restored.EventsUntil.
	SetEventsUntil(time.Time)
	// Gone receives the UID of a deleted pod. If the pod's start-up has a Settled report, the Reconciler makes this
	// report before it calls Gone.
	Gone(uid string)
}

// ReportKind is the kind of change that a Report describes.
type ReportKind uint8

// Kinds of reports.
const (
	// Changed means that a pod's timeline changed. The report contains only the pod's UID, and the method Some returns
	// the new timeline. If a phase only becomes longer because time passes, the Reconciler sends no report of kind
	// Changed. Reports of kind Changed are frequent, so the receiver must handle them at low cost.
	Changed ReportKind = iota
	// Partial means that a start-up in progress changed. Each pod has at most one Partial report per second. If a pod
	// changes several times within a second, one report at the end of the second covers all changes.
	Partial
	// Settled means that a start-up is settled: the start-up is over, and the agent expects no more evidence about it.
	// Each start-up has at most one Settled report. A start-up has no Settled report if Timeline.Reconstructed is true.
	Settled
	// EphemeralPulled means that the agent expects no more evidence about the pulls for a pod's ephemeral containers.
	// Timeline.EphemeralPulls contains these pulls. The Settled report contains the pulls for ephemeral containers that
	// happened during the start-up.
	EphemeralPulled
	// PostStartup means that a container run ended, or that a kubelet Event occurred, after the start-up
	// (Report.PostStartup). The Reconciler reports kubelet Events in chronological order. If the previous agent
	// reported an Event (Restored.EventsUntil), the Reconciler does not report the Event again.
	PostStartup
	// Terminated means that a pod's object was removed, and that the agent had seen the pod's deletion request.
	// Timeline.Termination describes the termination.
	Terminated
	// Forgotten means that the Reconciler has dropped a pod, because the pod's object was deleted.
	Forgotten
)

// Report describes a change in the Reconciler's data about one pod.
type Report struct {
	Kind        ReportKind
	Timeline    timeline.Timeline
	PostStartup timeline.PostStartup // event after the start-up; set only for the kind PostStartup
}

// Reconciler is the only owner of evidence.
type Reconciler struct {
	config  Config
	inbox   chan timeline.Observation
	queries chan func()
	stopped chan struct{}

	eventsUsed    atomic.Uint64
	reconstructed reconstructedCounts

	// Only the goroutine in Run uses the fields below.
	clocks       timeline.Clocks
	pulls        timeline.PullLog
	silences     timeline.SilenceLog
	pressure     timeline.PressureLog
	clockLog     timeline.ClockLog
	pods         map[string]*pod
	starting     int
	mirrors      []string // start-up IDs of the removed mirror pods
	followed     int      // number of pods whose ephemeral containers the Reconciler follows
	terminations int      // number of pods whose termination the Reconciler follows

	eventsUntil    time.Time       // time of the latest kubelet Event in a PostStartup report
	reported       map[string]bool // UIDs that a previous agent reported and this agent has not seen yet
	cachedStarting cachedStarting
}

// errStopped is the error of queries after Run has returned.
var errStopped = errors.New("the agent is stopping")

// New creates a Reconciler. The Reconciler does nothing before Run. New panics if its metric is already registered.
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

// Observe passes an observation to Run. If the inbox is full, Observe waits until the inbox has room, ctx is done,
// or Run has returned.
func (r *Reconciler) Observe(ctx context.Context, o timeline.Observation) {
	select {
	case r.inbox <- o:
	case <-ctx.Done():
	case <-r.stopped:
	}
}

// Run restores the saved evidence, and then applies observations until ctx is done. After ctx is done, Run applies the
// observations that are still in the inbox. Run then settles completed start-ups without waiting for late Events. If a
// completed start-up still needs a response from the runtime, and if the saved state contains the start-up, Run leaves
// the start-up to the next agent. Run returns nil.
func (r *Reconciler) Run(ctx context.Context) error {
	defer close(r.stopped)
	r.restore()
	timer := time.NewTimer(pulse.Until(time.Now(), tick))
	defer timer.Stop()
	for {
		var ticks <-chan time.Time
		if r.starting+r.followed+r.terminations > 0 {
			ticks = timer.C
		}
		select {
		case <-ctx.Done():
			r.drain()
			r.settleEnded()
			return nil
		case o := <-r.inbox:
			r.cachedStarting = cachedStarting{}
			r.observe(o)
		case response := <-r.queries:
			response()
		case <-ticks:
			timer.Reset(pulse.Until(time.Now(), tick))
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

// Skew returns the difference between the control plane's clock and the node's clock. The result is positive if the
// control plane's clock is ahead.
func (r *Reconciler) Skew(ctx context.Context) (timeline.Skew, error) {
	return runQuery(ctx, r, "clock skew", r.clocks.Skew)
}

// EventsUsed returns the number of observed Events that added evidence to a start-up. EventsUsed is safe to call
// from any goroutine.
func (r *Reconciler) EventsUsed() uint64 { return r.eventsUsed.Load() }

// Present returns the pods on the node, sorted by namespace and name. Among pods with the same name, the latest pod
// comes first.
func (r *Reconciler) Present(ctx context.Context) ([]timeline.Timeline, error) {
	return runQuery(ctx, r, "pods on the node", func() []timeline.Timeline {
		return r.timelinesOf(func(*pod) bool { return true })
	})
}

// Some returns the timelines of the pods with the given UIDs, in no particular order. The method Some omits pods that
// are not on the node.
func (r *Reconciler) Some(ctx context.Context, uids []string) ([]timeline.Timeline, error) {
	return runQuery(ctx, r, "some pods", func() []timeline.Timeline {
		some := make([]*pod, 0, len(uids))
		for _, uid := range uids {
			if p := r.pods[uid]; p != nil {
				some = append(some, p)
			}
		}
		return r.timelines(some)
	})
}

// runQuery calls a function on the goroutine in Run and returns the function's result.
func runQuery[A any](ctx context.Context, r *Reconciler, what string, query func() A) (A, error) {
	response := make(chan A, 1)
	var err error
	select {
	case r.queries <- func() { response <- query() }:
		return <-response, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-r.stopped:
		err = errStopped
	}
	var none A
	return none, fmt.Errorf("get %s: %w", what, err)
}

// timelinesOf returns the timelines of the pods for which the given function returns true. The timelines are sorted by
// namespace and name.
func (r *Reconciler) timelinesOf(of func(*pod) bool) []timeline.Timeline {
	some := make([]*pod, 0, len(r.pods))
	for _, p := range r.pods {
		if of(p) {
			some = append(some, p)
		}
	}
	return timeline.Sorted(r.timelines(some))
}

// timelines returns the timelines of the given pods, in the same order.
func (r *Reconciler) timelines(pods []*pod) []timeline.Timeline {
	all := make([]timeline.Timeline, 0, len(pods))
	now, skew := r.config.Now(), r.clocks.Skew()
	for _, p := range pods {
		if t, ok := r.timelineWith(p, now, skew); ok {
			all = append(all, t)
		}
	}
	return all
}
