package factor_test

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/podlapse/podlapse/internal/factor"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

var update = flag.Bool("update", false, "rewrite the test of the rules; read the difference by eye")

var now = time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)

func fleetOf(all nodes) *factor.Fleet {
	fleet := factor.NewFleet()
	for node, startUps := range all {
		recent, past := totalsOf(node, startUps)
		fleet.Add(node, recent)
		fleet.AddPast(past)
	}
	return fleet
}

// totalsOf returns a node's totals of the past hour, and of the day before the past hour.
func totalsOf(node string, startUps []timeline.Timeline) (recent, past api.TotalsRecord) {
	hourAgo := now.Add(-factor.Window)
	hour := factor.NewTotals(node, factor.TimeWindow{Since: hourAgo})
	day := factor.NewTotals(node, factor.TimeWindow{Since: hourAgo.Add(-factor.Past), Until: hourAgo})
	for _, t := range startUps {
		record := api.NewRecord(t)
		hour.Add(record)
		day.Add(record)
	}
	return hour.Record(), day.Record()
}

// rulesTest is the file with the test that promtool runs on the rules (in lab, go test ./internal/monitoring).
const rulesTest = "../../manifests/monitoring/tests/factor.yaml"

// TestFactorsEqualRules writes a test of the rules. The input is the metrics of the start-ups in fleets, and the
// expected output is the factors of this package. The committed file must have the same content.
func TestFactorsEqualRules(t *testing.T) {
	var out strings.Builder
	out.WriteString("# The rules must compute the same factors as kubectl podlapse for the same start-ups.\n" +
		"# Written by: go test ./internal/factor -update\n" +
		"rule_files: [../rules.yaml]\nevaluation_interval: 1m\ntests:\n")
	for _, name := range slices.Sorted(maps.Keys(fleets())) {
		writeTest(t, &out, name, fleets()[name])
	}
	if *update {
		if err := os.WriteFile(rulesTest, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(rulesTest)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf(
			"%s differs from the factors of this package: run go test ./internal/factor -update, then run promtool "+
				"on the file",
			rulesTest,
		)
	}
}

// writeTest writes one test. Every series starts at 1. Start-ups before the past hour increase their series 110 minutes
// before the end of the test. Start-ups of the past hour increase their series 30 minutes before the end.
func writeTest(t *testing.T, out *strings.Builder, name string, all nodes) {
	t.Helper()
	before, minutes := 60, 120
	for _, startUps := range all {
		for _, s := range startUps {
			if now.Sub(s.SettledAt) >= factor.Window {
				before, minutes = 130, 4*60
			}
		}
	}
	fmt.Fprintf(out, "  - name: %s\n    interval: 1m\n    input_series:\n", name)
	for _, node := range slices.Sorted(maps.Keys(all)) {
		past, total := metricsOf(t, all[node], false), metricsOf(t, all[node], true)
		for _, series := range slices.Sorted(maps.Keys(total)) {
			fmt.Fprintf(out, "      - {series: '%s', values: '1x%d %sx%d %sx%d'}\n",
				strings.Replace(series, "{", fmt.Sprintf(`{node="%s"`, node), 1), before-1,
				decimal(1+past[series]), minutes-30-before-1, decimal(1+total[series]), 30)
		}
		fmt.Fprintf(out, "      - {series: 'podlapse_build_info{node=\"%s\"}', values: '1x%d'}\n", node, minutes)
	}
	fleet := fleetOf(all)
	out.WriteString("    promql_expr_test:\n")
	expression := func(record string) {
		fmt.Fprintf(
			out,
			"      - expr: round(1000 * %s)\n        eval_time: %dm\n        exp_samples:",
			record,
			minutes,
		)
	}
	sample := func(label, name string, value float64) {
		fmt.Fprintf(out, "\n          - {labels: '{%s=\"%s\"}', value: %.0f}", label, name, math.Round(1000*value)+0)
	}
	expression("node:podlapse_node_factor:ratio1h")
	for _, n := range fleet.Nodes() {
		if n.Factor != nil {
			sample("node", n.Node, *n.Factor)
		}
	}
	out.WriteString("\n")
	expression("(node_work:podlapse_node_lost_seconds:increase1h and on (node) node:podlapse_node_factor:ratio1h)")
	for _, n := range fleet.Nodes() {
		byName := func(x, y factor.LostWork) int { return strings.Compare(x.Work, y.Work) }
		for _, w := range slices.SortedFunc(slices.Values(n.LostIn), byName) {
			sample("node", n.Node+`", work="`+w.Work, w.Lost.Duration().Seconds()*float64(n.StartUps))
		}
	}
	out.WriteString("\n")
	expression("registry:podlapse_registry_factor:ratio1h")
	for _, r := range fleet.Registries() {
		if r.Factor != nil {
			sample("registry", r.Registry, *r.Factor)
		}
	}
	out.WriteString("\n")
}

func decimal(v float64) string { return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64) }

// metricsOf returns the agent's own metrics of start-ups, by series. If recent is false, the metrics exclude the past
// hour.
func metricsOf(t *testing.T, startUps []timeline.Timeline, recent bool) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	metrics := export.NewMetrics(registry, nil)
	for _, s := range startUps {
		if recent || now.Sub(s.SettledAt) >= factor.Window {
			metrics.Observe(s)
		}
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			switch name := family.GetName(); name {
			case "podlapse_pod_phase_duration_seconds", "podlapse_image_unpack_duration_seconds",
				"podlapse_image_pull_duration_seconds", "podlapse_pod_startup_duration_seconds":
				series[name+"_sum"+labels(m)] = m.GetHistogram().GetSampleSum()
				if !strings.HasPrefix(name, "podlapse_pod_phase") && !strings.HasPrefix(name, "podlapse_image_unpack") {
					series[name+"_count"+labels(m)] = float64(m.GetHistogram().GetSampleCount())
				}
			case "podlapse_pod_phase_steps_total", "podlapse_image_pulls_sized_total",
				"podlapse_image_pull_sized_seconds_total", "podlapse_image_pull_sized_bytes_total",
				"podlapse_image_pull_sized_unpack_seconds_total", "podlapse_evidence_unreported_total",
				"podlapse_pod_startups_total":
				series[name+labels(m)] = m.GetCounter().GetValue()
			}
		}
	}
	maps.DeleteFunc(series, func(name string, value float64) bool {
		// Without this condition, the test would have hundreds of series.
		return value == 0 && (strings.Contains(name, "phase=") || !strings.Contains(name, "duration"))
	})
	return series
}

func labels(m *dto.Metric) string {
	var pairs []string
	for _, l := range m.GetLabel() {
		pairs = append(pairs, fmt.Sprintf(`, %s="%s"`, l.GetName(), l.GetValue()))
	}
	return "{" + strings.Join(pairs, "") + "}"
}

// TestNodeFactors compares the factors with values computed by hand. Node a takes 4 s longer for the network of each of
// its six start-ups. The other nodes together did the same work ten times in 12.1 s.
func TestNodeFactors(t *testing.T) {
	all := fleets()["a slow node"]
	for node := range all {
		for i := range all[node] {
			all[node][i].Pulls = nil
		}
	}
	const work = 0.1 + 0.4 + 0.15 + 0.25 + 0.06 + 0.08 + 0.17
	found := fleetOf(all).Nodes()
	if got, want := *found[0].Factor, (work+4)/work; math.Abs(got-want) > 1e-9 {
		t.Errorf("factor of a is %v, want %v", got, want)
	}
	if found[0].Lost.Duration() != 4*time.Second || found[0].StartUps != 6 {
		t.Errorf("%+v, want 4s lost in each of 6 start-ups", found[0])
	}
	want := []factor.LostWork{{Work: "network", Lost: api.Seconds(4 * time.Second)}, {Work: "containers"},
		{Work: "kubelet_pickup"}, {Work: "sandbox"}, {Work: "volumes"}}
	for i, w := range found[0].LostIn {
		found[0].LostIn[i].Lost = api.Seconds(w.Lost.Duration().Round(time.Microsecond)) // floating-point sums
	}
	slices.SortFunc(found[0].LostIn[1:], func(x, y factor.LostWork) int { return strings.Compare(x.Work, y.Work) })
	if !slices.Equal(found[0].LostIn, want) {
		t.Errorf("lost in %v, want %v", found[0].LostIn, want)
	}
	if *found[1].Factor >= 1 || *found[2].Factor >= 1 {
		t.Errorf("the other nodes have the factors %v and %v", *found[1].Factor, *found[2].Factor)
	}
}

func TestNodesSayWhyTheyHaveNoFactor(t *testing.T) {
	for name, want := range map[string]map[string]string{
		"a single node":             {"a": "only one agent responded, so there is no other node to compare with"},
		"too little work elsewhere": {"a": "the other nodes did too little of the same work", "c": "no start-up ended"},
		"a runtime with one timestamp": {
			"a": "this container runtime cannot report when the network",
		},
		"a runtime after an upgrade": {},
	} {
		for _, n := range fleetOf(fleets()[name]).Nodes() {
			if why := want[n.Node]; !strings.HasPrefix(n.Why, why) || (n.Factor == nil) != (why != "") {
				t.Errorf("%s: node %s: factor %v, %q, want %q", name, n.Node, n.Factor, n.Why, why)
			}
		}
	}
}

// TestFactorExcludesMergedWork checks a node whose runtime does not respond. The evidence does not separate some
// phases, but the node still has a factor.
func TestFactorExcludesMergedWork(t *testing.T) {
	n := fleetOf(fleets()["a runtime that does not respond"]).Nodes()[0]
	if n.Factor == nil || n.Why != "the evidence does not separate volumes, network, sandbox" {
		t.Errorf("%+v", n)
	}
}

func TestRegistriesCount(t *testing.T) {
	var startUps []timeline.Timeline
	for i := range 10 {
		startUps = append(startUps, startUp(fmt.Sprint("a", i), time.Minute, normal(),
			download("big.example", 1000*(i+1), 0, 10)))
	}
	failing := startUp("f", time.Minute, normal(), timeline.Pull{Registry: "bad.example", Image: "bad.example/x",
		Outcome: imagepull.OutcomeFailed, FinishedAt: now.Add(-time.Minute)}, timeline.Pull{Registry: "bad.example",
		Outcome: imagepull.OutcomePulling})
	failing.State, failing.SettledAt = timeline.StateStarting, time.Time{}
	fleet := fleetOf(nodes{"a": startUps, "b": {failing}})
	got := fleet.Registries()
	if len(got) != 2 || got[0].Failures != 1 || got[0].InProgress != 1 || got[0].Pulls != 0 || got[0].Factor != nil {
		t.Fatalf("%+v", got)
	}
	// pulls ended: a failed pull, and in other cases pulls that verified an image or continued an earlier pull
	if got[0].Why != "no measured download in the past hour" {
		t.Errorf("the note of a registry without pulls is %q", got[0].Why)
	}
	if big := got[1]; big.P50.Duration() != 5*time.Second || big.P90.Duration() != 9*time.Second ||
		big.Pulls != 10 || big.Bytes != 100<<20 || big.Nodes != 1 {
		t.Errorf("%+v", big)
	}
	if !fleet.NeedsPast() {
		t.Error("a registry without other pulls to compare with does not need the day before")
	}
	if fleetOf(fleets()["a slow registry"]).NeedsPast() {
		t.Error("the day before is needed although other registries had enough pulls")
	}
}
