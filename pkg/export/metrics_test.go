package export

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"

	"github.com/podlapse/podlapse/internal/jsonlines"
	"github.com/podlapse/podlapse/internal/registrylabel"
	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// registerAll returns a registry with every collector of this package, except the collector of pod series.
func registerAll(t testing.TB) (*prometheus.Registry, *Metrics) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	metrics := NewMetrics(registry, nil)
	jsonlines.New(jsonlines.Config{Registerer: registry})
	registry.MustRegister(
		NewClockSkew(func() timeline.Skew {
			return timeline.Skew{Least: -20 * time.Millisecond, Most: 130 * time.Millisecond}
		}),
		NewStarting(func() []timeline.Timeline { return []timeline.Timeline{startuptest.StillPulling()} }),
	)
	return registry, metrics
}

func TestMetricsAreClean(t *testing.T) {
	registry, metrics := registerAll(t)
	metrics.Observe(startuptest.ColdStart())
	problems, err := testutil.GatherAndLint(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
}

// failedWithConflicts returns a failed start-up with a pull that unpacked for 1.5 s. Two milestones of the start-up
// have conflicts, a third milestone lacks evidence, and the runtime cannot report a fourth milestone.
func failedWithConflicts() timeline.Timeline {
	return timeline.Timeline{
		Namespace: "shop", Name: "odd", UID: "0b1f", State: timeline.StateFailed, CreatedAt: after(0),
		SettledAt: after(time.Minute), Total: time.Minute,
		Pulls: []timeline.Pull{{
			Container: "app", Kind: timeline.KindMain, Registry: "registry.example", Outcome: imagepull.OutcomeUnknown,
			FinishedAt: after(9 * time.Second),
			Layers: []timeline.Layer{
				{Digest: "sha256:01", SizeBytes: 1000, DownloadedAt: after(5 * time.Second),
					UnpackedAt: after(6 * time.Second)},
				{Digest: "sha256:02", SizeBytes: 2000, DownloadedAt: after(7 * time.Second),
					UnpackedAt: after(7500 * time.Millisecond)},
			},
		}},
		Conflicts: []timeline.Conflict{{Milestone: timeline.MilestoneRunning, Container: "app"},
			{Milestone: timeline.MilestoneSandboxBegun}, {Milestone: timeline.MilestoneRunning}},
		Missing: []string{"scheduled"}, Incomplete: true, Unreported: []string{"network_ready"},
	}
}

func TestMetricsExposition(t *testing.T) {
	registry, metrics := registerAll(t)
	metrics.Observe(startuptest.ColdStart())
	metrics.Observe(failedWithConflicts())
	if *update {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		for _, family := range families {
			if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile("testdata/cold-start.metrics", text.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.Open("testdata/cold-start.metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	if err := testutil.GatherAndCompare(registry, want); err != nil {
		t.Error(err)
	}
}

// observed returns the number of observations of a histogram, and their sum, over all series with matching
// labels.
func observed(t *testing.T, registry *prometheus.Registry, name string, labels ...string) (n uint64, sum float64) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			have := ""
			for _, pair := range metric.GetLabel() {
				have += pair.GetName() + "=" + pair.GetValue() + " "
			}
			matches := true
			for _, label := range labels {
				matches = matches && strings.Contains(have, label+" ")
			}
			if matches {
				n += metric.GetHistogram().GetSampleCount()
				sum += metric.GetHistogram().GetSampleSum()
			}
		}
	}
	return n, sum
}

func TestPhaseSeriesExistFromTheStart(t *testing.T) {
	registry, _ := registerAll(t)
	got, err := testutil.GatherAndCount(registry, "podlapse_pod_phase_duration_seconds")
	if err != nil || got != len(timeline.Phases()) {
		t.Errorf("%d phases, %v; want %d", got, err, len(timeline.Phases()))
	}
}

// TestNativeHistogramResolution checks that each native bucket is at most a tenth wider than the previous bucket. The
// widths of neighboring buckets have the ratio 2^(2^-3) with schema 3, and 2^(2^-2) with schema 2
// (prometheus/client_model, Histogram.schema).
func TestNativeHistogramResolution(t *testing.T) {
	registry, metrics := registerAll(t)
	metrics.Observe(startuptest.ColdStart())
	metrics.Observe(failedWithConflicts())
	fine := 0
	for _, family := range gather(t, registry) {
		for _, m := range family.GetMetric() {
			if h := m.GetHistogram(); h != nil {
				fine++
				if h.GetSchema() != 3 {
					t.Errorf("%s: schema %d", family.GetName(), h.GetSchema())
				}
			}
		}
	}
	if fine < 10 {
		t.Errorf("%d histograms", fine)
	}
}

func TestOnlyCompletedStartUpsAreTimed(t *testing.T) {
	for state, want := range map[timeline.State]uint64{
		timeline.StateReady: 1, timeline.StateSucceeded: 1, timeline.StateFailed: 0, timeline.StateDeleted: 0,
		timeline.StateGivenUp: 0,
	} {
		registry, metrics := registerAll(t)
		in := startuptest.ColdStart()
		in.State = state
		metrics.Observe(in)
		startups, _ := observed(t, registry, "podlapse_pod_startup_duration_seconds")
		phases, _ := observed(t, registry, "podlapse_pod_phase_duration_seconds", "phase=pull")
		pulls, _ := observed(t, registry, "podlapse_image_pull_duration_seconds")
		if startups != want || phases != want || pulls != 1 {
			t.Errorf("%s: %d starts, %d pull phases, %d pulls; want %d, %d, 1", state, startups, phases, pulls,
				want, want)
		}
	}
}

func TestStartUpsWithChangedClockAreNotTimed(t *testing.T) {
	registry, metrics := registerAll(t)
	workloads := NewWorkloadSeries(registry, 1)
	unclear := startuptest.ColdStart()
	unclear.Missing = []string{timeline.MissingClock}
	metrics.Observe(unclear)
	workloads.Observe(unclear)
	startups, _ := observed(t, registry, "podlapse_pod_startup_duration_seconds")
	phases, _ := observed(t, registry, "podlapse_pod_phase_duration_seconds", "phase=pull")
	if of := testutil.CollectAndCount(workloads.ended); startups != 0 || phases != 0 || of != 0 {
		t.Errorf("%d starts, %d pull phases, %d workloads", startups, phases, of)
	}
	if n := testutil.ToFloat64(metrics.ended.WithLabelValues("ready")); n != 1 {
		t.Errorf("%g completed start-ups", n)
	}
}

func TestStretchesOfPhaseAreSummed(t *testing.T) {
	registry, metrics := registerAll(t)
	in := startuptest.ColdStart()
	in.Phases = append(in.Phases, timeline.Span{
		Phase: timeline.PhasePull, Container: "other", StartAt: after(20 * time.Second), EndAt: after(23 * time.Second),
	})
	metrics.Observe(in)
	if n, sum := observed(t, registry, "podlapse_pod_phase_duration_seconds", "phase=pull"); n != 1 || sum != 8 {
		t.Errorf("%d observations of %v s in all, want one of 8 s", n, sum)
	}
	if n, _ := observed(t, registry, "podlapse_pod_phase_duration_seconds", "phase=network"); n != 0 {
		t.Error("a phase that is merged into another is counted as well")
	}
	for phase, want := range map[timeline.Phase]float64{timeline.PhasePull: 2, timeline.PhaseVolumes: 1,
		timeline.PhaseNetwork: 0} {
		if got := testutil.ToFloat64(metrics.steps.WithLabelValues(string(phase))); got != want {
			t.Errorf("%v steps of %s, want %v", got, phase, want)
		}
	}
}

func TestUntimedPullsAreNotObserved(t *testing.T) {
	for _, pull := range []timeline.Pull{
		{Outcome: imagepull.OutcomeDownloaded},
		{Outcome: imagepull.OutcomePresent, Timed: true},
		{Outcome: imagepull.OutcomePulling, Timed: true},
	} {
		registry, metrics := registerAll(t)
		metrics.Observe(timeline.Timeline{State: timeline.StateReady, Pulls: []timeline.Pull{pull}})
		pulls, _ := observed(t, registry, "podlapse_image_pull_duration_seconds")
		queues, _ := observed(t, registry, "podlapse_image_pull_queue_seconds")
		if pulls != 0 || queues != 0 {
			t.Errorf("%+v: counted", pull)
		}
	}
}

func TestRegistryLabelsAreBounded(t *testing.T) {
	registry, metrics := registerAll(t)
	observe := func(host string) {
		metrics.Observe(timeline.Timeline{Pulls: []timeline.Pull{{
			Registry: host, Outcome: imagepull.OutcomeFailed, Timed: true, Pull: time.Second,
		}}})
	}
	for i := range 100 {
		observe(fmt.Sprintf("r%d.example", i))
	}
	observe("r0.example")
	observe("\xff")
	for label, want := range map[string]uint64{
		"registry=r0.example": 2, "registry=r2.example": 1, "registry=r3.example": 0,
		"registry=other": 100 - registrylabel.Max/2, "registry=unknown": 1,
	} {
		got, _ := observed(t, registry, "podlapse_image_pull_duration_seconds", label, "outcome=failed")
		if got != want {
			t.Errorf("%s: %d, want %d", label, got, want)
		}
	}
}

func TestExemplarsNameTheTrace(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	metrics := NewMetrics(registry, func(timeline.Timeline) string { return "0af7651916cd43dd8448eb211c80319c" })
	metrics.Observe(startuptest.ColdStart())
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, b := range m.GetHistogram().GetBucket() {
				if e := b.GetExemplar(); e != nil && e.GetLabel()[0].GetValue() == "0af7651916cd43dd8448eb211c80319c" {
					named[family.GetName()] = true
				}
			}
			h := m.GetHistogram()
			if h != nil && h.GetSampleCount() > 0 && h.GetSchema() == 0 && len(h.GetPositiveSpan()) == 0 {
				t.Errorf("%s is not a native histogram", family.GetName())
			}
		}
	}
	for _, name := range []string{"podlapse_pod_startup_duration_seconds", "podlapse_pod_startup_sli_duration_seconds",
		"podlapse_pod_phase_duration_seconds", "podlapse_image_pull_duration_seconds"} {
		if !named[name] {
			t.Errorf("no exemplar in %s", name)
		}
	}
}

func TestNoExemplarWithoutTrace(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	NewMetrics(registry, func(timeline.Timeline) string { return "" }).Observe(startuptest.ColdStart())
	for _, family := range gather(t, registry) {
		for _, m := range family.GetMetric() {
			for _, b := range m.GetHistogram().GetBucket() {
				if b.GetExemplar() != nil {
					t.Fatalf("%s has %v", family.GetName(), b.GetExemplar())
				}
			}
		}
	}
}
