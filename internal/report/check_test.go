package report

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/tally"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestImpossibleSums changes one value of possible sums at a time.
func TestImpossibleSums(t *testing.T) {
	sums := tally.NewSums("a")
	sums.Add(start{node: "a", owner: "web", network: 1, pull: 2, registry: "r", image: "r/web", size: 9}.record())
	sums.Add(start{node: "a", owner: "web", network: 3, state: timeline.StateFailed}.record())
	valid, err := json.Marshal(sums.Record())
	if err != nil {
		t.Fatal(err)
	}
	type item = api.ReportItem
	type totals = api.TotalsRecord
	for want, change := range map[string]func(image, workload *item, node *totals){
		"": func(_, _ *item, _ *totals) {},
		`image "r/web" has pulls -9223372036854775807`: func(i, _ *item, _ *totals) {
			i.Pulls.Pulls = -math.MaxInt64
		},
		"has bytes -1":                   func(i, _ *item, _ *totals) { i.Pulls.Sized.Bytes = -1 },
		"all pulls together":             func(i, _ *item, _ *totals) { i.Pulls.Bytes = 2e16 },
		"has start_ups 1000000001":       func(_, w *item, _ *totals) { w.StartUps = maxCount + 1 },
		"has failures -1":                func(_, w *item, _ *totals) { w.Failures = -1 },
		"has 3 failures of 2 start-ups":  func(_, w *item, _ *totals) { w.Failures = 3 },
		"has seconds -0.000000001":       func(_, w *item, _ *totals) { w.Total = -1 },
		"unfinished_seconds 7 of 6":      func(_, w *item, _ *totals) { w.Unfinished = seconds(7) },
		"seconds of a cause -1":          func(_, w *item, _ *totals) { w.Causes[0].Length = seconds(-1) },
		"causes that are longer than":    func(_, w *item, _ *totals) { w.Causes[0].Length += seconds(2) },
		"a cause with unfinished_second": func(_, w *item, _ *totals) { w.Causes[0].Unfinished = seconds(5) },
		"2 started of 1 ended":           func(_, _ *item, n *totals) { n.Ended, n.Started = 1, 2 },
		"steps of a phase -1":            func(_, _ *item, n *totals) { n.Phases[0].Steps = -1 },
		`registry "r" has pulls -1`:      func(_, _ *item, n *totals) { n.Registries[0].Pulls = -1 },
		`"r" has unpack_seconds -1`:      func(_, _ *item, n *totals) { n.Registries[0].Unpack = seconds(-1) },
		"pulls of a duration -1": func(_, _ *item, n *totals) {
			n.Registries[0].Durations = []api.DurationBucket{{Pulls: -1}}
		},
		"seconds of a duration -1": func(_, _ *item, n *totals) {
			n.Registries[0].Durations = []api.DurationBucket{{Length: seconds(-1)}}
		},
		"more than 100000000 seconds": func(_, _ *item, n *totals) {
			n.Registries[0].Length = seconds(maxPullSeconds)
			n.Registries = append(n.Registries, n.Registries[0])
		},
		"together have more than 100000000 seconds": func(_, _ *item, n *totals) {
			n.Registries[0].Sized.Length = seconds(maxPullSeconds)
			n.Registries = append(n.Registries, n.Registries[0])
		},
		"pulls together have more than": func(_, _ *item, n *totals) {
			n.Registries[0].Sized.Unpack = seconds(maxPullSeconds)
			n.Registries = append(n.Registries, n.Registries[0], n.Registries[0])
		},
		"or 10000000000000000 bytes": func(_, _ *item, n *totals) {
			n.Registries[0].Sized.Bytes = maxPullBytes
			n.Registries = append(n.Registries, n.Registries[0])
		},
		"durations that are longer than": func(_, _ *item, n *totals) {
			n.Registries[0].Durations = []api.DurationBucket{{Length: seconds(2)}, {Length: seconds(2)}}
		},
		"all workloads together have more than 9000000000 seconds": func(i, w *item, _ *totals) {
			i.Total, w.Total = seconds(8_000_000_000), seconds(8_000_000_000)
		},
		"all phases together have more than 9000000000 seconds": func(_, _ *item, n *totals) {
			n.Phases = append(n.Phases, slices.Repeat([]api.PhaseTotals{{Length: seconds(8_000_000_000)}}, 2)...)
		},
		"the node has ended -1": func(_, _ *item, n *totals) { n.Ended = -1 },
	} {
		var record api.ReportRecord
		if err := json.Unmarshal(valid, &record); err != nil {
			t.Fatal(err)
		}
		change(&record.Items[0], &record.Items[1], record.Totals)
		err := Check(record)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestImpossibleRecords(t *testing.T) {
	longest := api.Seconds(math.MaxInt64)
	for want, change := range map[string]func(*api.Record){
		"":                         func(*api.Record) {},
		"total_seconds -1":         func(r *api.Record) { r.Total = seconds(-1) },
		"all pods together":        func(r *api.Record) { r.Total = seconds(8_000_000_000) },
		"total_seconds 9223372036": func(r *api.Record) { r.Total = longest },
		"seconds of a phase -1":    func(r *api.Record) { r.Phases[0].Length = seconds(-1) },
		"phases that are longer":   func(r *api.Record) { r.Phases[0].Length = seconds(99) },
		"seconds of pulls -2":      func(r *api.Record) { r.Pulls[0].Pull = new(seconds(-2)) },
		"has bytes -1":             func(r *api.Record) { r.Pulls[0].Download.Bytes = -1 },
	} {
		var check RecordCheck
		var err error
		for range 2 {
			record := start{owner: "web", network: 1, pull: 2, registry: "r", image: "r/web", size: 9}.record()
			change(&record)
			err = check.Check(record)
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestBrokenAgents has agents whose sums are as large as Check allows. The lost time must not overflow.
func TestBrokenAgents(t *testing.T) {
	f := NewFleet(noon.Add(-24*time.Hour), noon)
	for node, cause := range map[string]timeline.Cause{"a": timeline.CauseConfig, "b": timeline.CauseRegistry,
		"c": timeline.CauseNetwork, "d": timeline.CauseApp} {
		item := api.ReportItem{Kind: api.ReportWorkload, Namespace: "shop", StartUps: 10, Total: seconds(maxSeconds),
			Owner:  api.OwnerRecord{Kind: "Deployment", Name: node},
			Causes: []api.CauseTotals{{Cause: cause, Length: seconds(maxSeconds)}}}
		sums := api.ReportRecord{Items: []api.ReportItem{item}}
		if err := Check(sums); err != nil {
			t.Fatal(err)
		}
		f.Add(node, sums)
	}
	r := f.Report(5)
	if len(r.Causes.Rows) != 4 || r.Lost != seconds(maxSeconds) || !strings.Contains(r.Summary, " 9000000000 s of") {
		t.Errorf("%d causes, lost %s: %s", len(r.Causes.Rows), r.Lost, r.Summary)
	}
}

// TestFastNodeOfBrokenAgent has a node that is faster than a broken agent's node by more than a duration can express.
func TestFastNodeOfBrokenAgent(t *testing.T) {
	f := NewFleet(noon.Add(-24*time.Hour), noon)
	for node, phase := range map[string]api.PhaseTotals{"fast": {Steps: maxCount},
		"broken": {Steps: 5, Length: seconds(maxSeconds)}} {
		phase.Phase = timeline.PhaseNetwork
		totals := api.TotalsRecord{Ended: 6, Started: 6, Phases: []api.PhaseTotals{phase}}
		if err := CheckTotals(totals); err != nil {
			t.Fatal(err)
		}
		f.Add(node, api.ReportRecord{Totals: &totals})
	}
	rows := f.Report(5).Nodes.Rows
	if slices.ContainsFunc(rows, func(r Row) bool { return r.Name != "broken" || r.Lost < 0 || r.MostLost < 0 }) {
		t.Errorf("%+v", rows)
	}
}
