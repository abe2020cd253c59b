package reconcile

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// desk replaces sources and sinks in tests, and records the calls.
type desk struct {
	mu        sync.Mutex
	calls     []string
	settled   []timeline.Timeline
	gone      []timeline.Timeline
	changed   []string
	sampled   []bool
	announced int         // calls of PodStarting
	arrivals  []time.Time // EventWatch.ArrivedAt of each requested watch
	mute      bool        // true if the desk does not record requests to the runtime
}

// known returns the present pods and the deleted pods.
func (d *desk) known(t *testing.T, r *Reconciler) []timeline.Timeline {
	t.Helper()
	present, err := r.Present(t.Context())
	if err != nil {
		t.Error(err)
	}
	return timeline.Sorted(slices.Concat(d.gone, present))
}

func (d *desk) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, fmt.Sprintf(format, args...))
}

// RequestRuntime implements Sources.
func (d *desk) RequestRuntime(q timeline.RuntimeRequest) {
	if !d.mute {
		d.note("query %s %v", q.RuntimeUID, q.Images)
	}
}

// PodStarting implements Sources.
func (d *desk) PodStarting() { d.announced++ }

// WatchEvents implements Sources.
func (d *desk) WatchEvents(w timeline.EventWatch) {
	d.note("watch %s", w.InvolvedUID)
	d.arrivals = append(d.arrivals, w.ArrivedAt)
}

// UnwatchEvents implements Sources.
func (d *desk) UnwatchEvents(uid string) { d.note("unwatch %s", uid) }

// SampleNode implements Sources.
func (d *desk) SampleNode(wanted bool) { d.sampled = append(d.sampled, wanted) }

func (d *desk) report(r Report) {
	switch r.Kind {
	case Settled:
		d.note("settled %s %s", r.Timeline.Name, r.Timeline.State)
		d.settled = append(d.settled, r.Timeline)
	case Forgotten:
		d.gone = append(d.gone, r.Timeline)
	case Changed:
		d.changed = append(d.changed, r.Timeline.UID)
	}
}

// onReport adds a function that receives the timeline of each report of the given kind.
func (c *Config) onReport(kind ReportKind, get func(timeline.Timeline)) {
	c.alsoReport(kind, func(r Report) { get(r.Timeline) })
}

func (c *Config) alsoReport(kind ReportKind, get func(Report)) {
	before := c.Report
	c.Report = func(r Report) {
		before(r)
		if r.Kind == kind {
			get(r)
		}
	}
}

func (d *desk) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	calls := d.calls
	d.calls = nil
	return calls
}

// start runs a reconciler in a synctest bubble. The last result is a function that stops the reconciler and waits for
// its end.
func start(
	t *testing.T, d *desk, scope timeline.Scope,
) (r *Reconciler, observe func(timeline.Observation), stop func()) {
	t.Helper()
	return startWith(t, d, scope, func(*Config) {})
}

func startWith(
	t *testing.T, d *desk, scope timeline.Scope, adjust func(*Config),
) (r *Reconciler, observe func(timeline.Observation), stop func()) {
	t.Helper()
	config := Config{Now: time.Now, Scope: scope, Sources: d, Logger: zap.NewNop(), Report: d.report}
	adjust(&config)
	r = New(config)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	observe = func(o timeline.Observation) { r.Observe(ctx, o); synctest.Wait() }
	return r, observe, func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	}
}

// object returns a pod with one container. The pod was just assigned to the node, and the image is not on the node.
func object() timeline.Pod {
	return timeline.Pod{
		UID: "uid-1", RuntimeUID: "runtime-1", Namespace: "ns", Name: "pod", Phase: "Pending",
		CreatedAt: time.Now().Truncate(time.Second),
		Conditions: []timeline.Condition{{Type: "PodScheduled", True: true,
			TransitionAt: time.Now().Truncate(time.Second)}},
		Containers: []timeline.Container{{Name: "app", Kind: timeline.KindMain, Image: "cold",
			PullPolicy: timeline.PullIfNotPresent}},
	}
}

func ready(p timeline.Pod) timeline.Pod {
	now := time.Now().Truncate(time.Second)
	p.Phase = "Running"
	p.Containers = slices.Clone(p.Containers)
	p.Containers[0].State, p.Containers[0].StartedAt = timeline.StateRunning, now
	p.Containers[0].Started, p.Containers[0].Ready = true, true
	p.Conditions = append(slices.Clone(p.Conditions),
		timeline.Condition{Type: "ContainersReady", True: true, TransitionAt: now},
		timeline.Condition{Type: "Ready", True: true, TransitionAt: now})
	return p
}

func expect(t *testing.T, d *desk, want ...string) {
	t.Helper()
	if got := d.take(); !slices.Equal(got, want) {
		t.Errorf("calls %q, want %q", got, want)
	}
}
