package report

import (
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"
)

// fleetOf returns the sums of two nodes. The network of node b is slow.
func fleetOf() Measured {
	m := Measured{Since: noon.Add(-2 * time.Hour), Until: noon, Hours: 2, RuleHours: 2, WorkloadHours: 2, NodeCount: 2,
		StartUps: 40, Compared: true}
	*m.Causes.Row("network") = MeasuredRow{Seconds: 126, Lost: 120, Most: "node b", MostLost: 120}
	*m.Nodes.Row("a") = MeasuredRow{Lost: -60, Expected: 90, StartUps: 20}
	*m.Nodes.Row("b") = MeasuredRow{Lost: 120, Expected: 30, StartUps: 20, Most: "network", MostLost: 125}
	*m.Registries.Row("r.example") = MeasuredRow{Lost: 30, Expected: 60, Pulls: 10, Bytes: 1 << 30}
	*m.Workloads.Row("deployment shop/web") = MeasuredRow{Seconds: 120, Lost: 20, StartUps: 20, Most: "network",
		MostLost: 20}
	*m.Workloads.Row("deployment shop/db") = MeasuredRow{Seconds: 6, StartUps: 20}
	return m
}

func TestFromMetrics(t *testing.T) {
	r := FromMetrics(fleetOf(), 5)
	for _, test := range []struct{ got, want string }{
		{r.Summary, "2026-03-02 10:00 to 2026-03-02 12:00 UTC: 2 nodes, 40 start-ups (0 unsuccessful), 0 in " +
			"progress. The successful start-ups took 126 s. 120 s of this time was lost, including random " +
			"differences."},
		{r.Causes.text(), "network: 120 s lost of 126 s; most on node b (120 s)"},
		{r.Nodes.text(), "node b: 5.0 times slower than the other nodes; 120 s lost in 20 start-ups, most in network " +
			"(120 s)"},
		{r.Registries.text(), "registry r.example: 1.5 times slower per byte than the other registries; 30 s lost in " +
			"10 pulls of 1.0 GiB"},
		{r.Workloads.text(), "deployment shop/web: 1.2 times the time that the others need; 20 s lost in 20 " +
			"start-ups, most in network (20 s)"},
	} {
		if test.got != test.want {
			t.Errorf("got\n%s\nwant\n%s", test.got, test.want)
		}
	}
	if len(r.Notes) != 1 || r.Images.Note == "" || r.Nodes.Note != "" {
		t.Errorf("notes %q, %q, %q", r.Notes, r.Images.Note, r.Nodes.Note)
	}
}

// TestFromBrokenMetrics checks that a report has a JSON form and no number below zero if a server returns any numbers.
func TestFromBrokenMetrics(t *testing.T) {
	for _, number := range []float64{1e300, -1e300, math.MaxFloat64, -math.MaxFloat64, -3, 1e-310} {
		for _, other := range []float64{number, 1, -number} {
			m := fleetOf()
			m.StartUps, m.Failures, m.InProgress = number, number, number
			for _, rows := range []MeasuredRows{m.Causes, m.Nodes, m.Registries, m.Workloads} {
				*rows.Row("broken") = MeasuredRow{Seconds: number, Lost: other, Expected: number, StartUps: number,
					Failures: number, Pulls: number, Bytes: number, Most: "x", MostLost: number}
				*rows.Row("also broken") = *rows.Row("broken")
			}
			r := FromMetrics(m, 5)
			text, err := json.Marshal(r)
			if err != nil || regexp.MustCompile("[: (]-[0-9]").Match(text) {
				t.Errorf("%g, %g: %v\n%s", number, other, err, text)
			}
		}
	}
}

// TestFromIncompleteMetrics checks that the report states which data is missing.
func TestFromIncompleteMetrics(t *testing.T) {
	notes := func(r Report) string {
		all := r.Notes
		for _, part := range r.Parts() {
			all = append(all, part.Heading+": "+part.Note)
		}
		return strings.Join(all, "\n")
	}
	for _, test := range []struct {
		change func(m *Measured)
		want   string
	}{
		{func(m *Measured) { m.RuleHours = 1 }, "results of the recording rules for only 1 of 2 hours"},
		{func(m *Measured) { m.WorkloadHours = 1 }, "results about workloads for only 1 of 2 hours"},
		{func(m *Measured) { m.Warnings = []string{"no response from east"} },
			"Prometheus warns: no response from east"},
		{func(m *Measured) { m.Workloads = nil },
			"WORST WORKLOADS: the agents exported no metrics about workloads in this time: set "},
		{func(m *Measured) { m.Workloads, m.StartUps = nil, 0 }, "WORST WORKLOADS: no start-ups in this time"},
		{func(m *Measured) { m.Workloads, m.WorkloadSeries = nil, 9 },
			"WORST WORKLOADS: Prometheus lacks the recording rules"},
		{func(m *Measured) { m.NodeCount = 5 }, "WORST NODES: 3 nodes have no factor; the node or"},
		{func(m *Measured) { m.Registries = nil }, "WORST REGISTRIES: no pulls with known bytes in this time"},
		{func(m *Measured) { m.Registries = MeasuredRows{"r.example": {}} },
			"WORST REGISTRIES: no pulls with known bytes in this time"},
		{func(m *Measured) { m.Registries = MeasuredRows{"r.example": {Lost: 30, Pulls: 3}} },
			"WORST REGISTRIES: too few other pulls"},
		{func(m *Measured) { m.Causes, m.StartUps = nil, 0 }, "LOST BY CAUSE: no start-ups in this time"},
		{func(m *Measured) { m.Causes, m.NodeCount = nil, 1 }, "LOST BY CAUSE: a single node has no other nodes"},
		{func(m *Measured) { m.Causes, m.Compared = nil, false },
			"LOST BY CAUSE: too few start-ups on the other nodes"},
		{func(m *Measured) { m.OtherStartUps = 7.2 }, "WORST WORKLOADS: 7 start-ups are not assigned to a workload"},
		{func(m *Measured) { m.Workloads, m.OtherStartUps = MeasuredRows{"a": {}}, 1 },
			"other workloads to compare with; 1 start-up is not assigned"},
		{func(m *Measured) { m.Workloads = MeasuredRows{"a": {}} }, "a single workload has no other workloads"},
		{func(m *Measured) { m.Workloads = MeasuredRows{"a": {StartUps: 2}, "b": {StartUps: 3}} },
			"WORST WORKLOADS: too few successful start-ups for a comparison"},
		{func(m *Measured) { m.Workloads, m.ComparedWorkloads = MeasuredRows{"a": {StartUps: 20}}, true },
			"WORST WORKLOADS: no workload takes more time per start-up than the other workloads"},
	} {
		m := fleetOf()
		test.change(&m)
		if got := notes(FromMetrics(m, 5)); !strings.Contains(got, test.want) {
			t.Errorf("got\n%s\nwant %q", got, test.want)
		}
	}
}
