package export

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"

	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func startUpOf(name string, at time.Time) timeline.Timeline {
	t := startuptest.ColdStart()
	t.Owner, t.SettledAt = timeline.Owner{Kind: "Deployment", Name: name}, at
	return t
}

func TestWorkloadSeries(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	s := NewWorkloadSeries(registry, 2)
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s.Observe(startUpOf("web", at))
	s.Observe(startUpOf("web", at))
	failed := startUpOf("", at)
	failed.Owner, failed.State = timeline.Owner{}, timeline.StateFailed
	for range 30 { // all pods without an owner are one workload
		failed.Name += "x"
		s.Observe(failed)
	}
	s.Observe(startUpOf("late", at.Add(freeAfter-time.Second)))
	const startUps, failures = "podlapse_workload_startups_total", "podlapse_workload_startup_failures_total"
	compare := func(name string, want ...string) {
		t.Helper()
		text, err := testutil.GatherAndFormat(registry, expfmt.TypeTextPlain, name)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range strings.Lines(string(text)) {
			if labels, found := strings.CutPrefix(strings.TrimSpace(line), name); found {
				got = append(got, labels)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	compare(startUps, `{namespace="",workload="other",workload_kind=""} 1`,
		`{namespace="shop",workload="web",workload_kind="Deployment"} 2`)
	compare(failures, `{namespace="shop",workload="",workload_kind="Pod"} 30`)
	// After an hour, the workload "late" gets the series of the idle pods without an owner.
	s.Observe(startUpOf("web", at.Add(time.Minute)))
	s.Observe(startUpOf("late", at.Add(freeAfter)))
	compare(startUps, `{namespace="",workload="other",workload_kind=""} 1`,
		`{namespace="shop",workload="late",workload_kind="Deployment"} 1`,
		`{namespace="shop",workload="web",workload_kind="Deployment"} 3`)
	compare(failures)
}

// TestWorkloadSeriesAreBounded checks the number of series if the start-ups of many workloads have every cause.
func TestWorkloadSeriesAreBounded(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	s := NewWorkloadSeries(registry, MaxWorkloads)
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	causes := map[timeline.Cause]bool{}
	for i := range 10 * MaxWorkloads {
		startUp := startUpOf("web-"+strconv.Itoa(i), at.Add(time.Duration(i)*time.Minute))
		for _, phase := range timeline.Phases() {
			startUp.Phases = append(startUp.Phases, timeline.Span{Phase: phase, Cause: timeline.CauseOf(phase)})
			causes[timeline.CauseOf(phase)] = true
		}
		s.Observe(startUp)
		startUp.State = timeline.StateFailed
		s.Observe(startUp)
	}
	got, err := testutil.GatherAndCount(registry)
	if want := (MaxWorkloads + 1) * (2 + len(causes)); err != nil || got > want {
		t.Errorf("%d series, %v; want at most %d", got, err, want)
	}
}

// TestWorkloadSeriesOutOfOrder uses a start-up that ended before the latest start-up of its workload, but is reported
// later. The workload keeps its series for an hour after the latest start-up.
func TestWorkloadSeriesOutOfOrder(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	s := NewWorkloadSeries(registry, 1)
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	s.Observe(startUpOf("web", at))
	s.Observe(startUpOf("web", at.Add(-30*time.Minute)))
	s.Observe(startUpOf("late", at.Add(freeAfter-time.Minute)))
	if got := testutil.ToFloat64(s.ended.WithLabelValues("shop", "Deployment", "web")); got != 2 {
		t.Errorf("%g start-ups, want 2", got)
	}
}
