package scenario

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/lab/internal/node"
)

// exampleReport returns the truth about the workloads of the scenario, and the numbers that a run of the scenario
// reported for it.
func exampleReport() (reportTruth, fleetReport) {
	const ms = time.Millisecond
	startUp := func(pull, work time.Duration) causeTimes {
		return causeTimes{schedulerCause: 5 * ms, volumesCause: 145 * ms, networkCause: 30 * ms,
			runtimeCause: work - 175*ms, registryCause: pull, diskCause: pull / 100, appCause: 1200 * ms}
	}
	t := reportTruth{"n", map[string]string{}, map[string]time.Duration{}, map[string][]causeTimes{
		"plain":    slices.Repeat([]causeTimes{startUp(0, 1600*ms)}, reportPlain),
		brokenName: {startUp(0, 500*ms)}}}
	add := func(name string, pull time.Duration) {
		t.images[name], t.pulls[name] = "r/"+name, pull
		t.startUps[name] = []causeTimes{startUp(pull, 550*ms)}
	}
	for i := range reportNear {
		add(fmt.Sprintf("near-%d", i), 550*ms)
	}
	add("large", 6050*ms)
	r := fleetReport{NodeCount: 2, StartUps: 24,
		Notes: []string{"the report lacks 1 agent without a valid response: " + silentNode}}
	seconds := func(s float64) json.Number { return json.Number(fmt.Sprint(s)) }
	r.Registries.Items = []reportRow{{Name: node.OtherRegistry, Factor: 9.7}}
	for i := range reportFar {
		name := fmt.Sprintf("far-%d", i)
		add(name, 8050*ms)
		r.Images.Items = append(r.Images.Items, reportRow{Name: "r/" + name, Factor: 2.4, Seconds: seconds(8.05)})
		r.Workloads.Items = append(r.Workloads.Items, reportRow{Name: "deployment n/" + name, Factor: 2.7,
			Lost: seconds(6.1)})
	}
	r.Images.Items = append(r.Images.Items, reportRow{Name: "r/large", Factor: 1.7, Seconds: seconds(6.155)})
	r.Nodes.Items = []reportRow{{Name: slowNode, Factor: 3.5, Lost: seconds(12.6), Most: "network",
		MostLost: seconds(12.6)}}
	return t, r
}

func TestReportFactors(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*fleetReport)
		want  string // part of an error; empty if the verdict passes
	}{
		"right":              {func(*fleetReport) {}, ""},
		"registry too slow":  {func(r *fleetReport) { r.Registries.Items[0].Factor = 13 }, "factor is 13.00, want 9."},
		"registry too fast":  {func(r *fleetReport) { r.Registries.Items[0].Factor = 3 }, "factor is 3.00, want 9."},
		"no registry":        {func(r *fleetReport) { r.Registries.Items = nil }, "the report has no row, want"},
		"wrong large image":  {func(r *fleetReport) { r.Images.Items[reportFar].Factor = 12 }, "image of large"},
		"wrong slow image":   {func(r *fleetReport) { r.Images.Items[1].Factor = 1.2 }, "image of far-1"},
		"wrong workload":     {func(r *fleetReport) { r.Workloads.Items[2].Factor = 5 }, "workload far-2"},
		"too much lost":      {func(r *fleetReport) { r.Workloads.Items[3].Lost = "8.2" }, "lost by workload far-3"},
		"too little lost":    {func(r *fleetReport) { r.Workloads.Items[3].Lost = "4.4" }, "lost by workload far-3"},
		"no workload":        {func(r *fleetReport) { r.Workloads.Items[0].Name = "x" }, "workload far-0"},
		"wrong time of pull": {func(r *fleetReport) { r.Images.Items[0].Seconds = "4" }, "pull of far-0"},
	} {
		truth, report := exampleReport()
		test.spoil(&report)
		v := &Verdict{}
		v.judgeFactors(report, truth)
		wrong := strings.Join(v.Wrong(), "\n")
		if (wrong != "") != (test.want != "") || !strings.Contains(wrong, test.want) {
			t.Errorf("%s: %q, want %q", name, wrong, test.want)
		}
	}
}

// exampleMeasured returns the truth about the workloads of both nodes, and the report from Prometheus about them.
func exampleMeasured() (reportTruth, fleetReport, []time.Duration) {
	t, r := exampleReport()
	r.Notes = []string{"Prometheus estimates numbers from scrapes, so the numbers can differ"}
	r.Registries.Items[0].Pulls = reportFar
	r.Images = reportSection{Note: "the metrics do not name images: run the command without --prometheus"}
	r.Causes.Items = []reportRow{{Name: "registry", Most: "node node-1", Lost: "41.5", Seconds: "41.6"},
		{Name: "config", Most: "node node-1", Lost: "15.1", Seconds: "15.2"},
		{Name: "network", Most: "node " + slowNode, Lost: "13.5", Seconds: "16"}}
	r.Workloads.Items = []reportRow{{Name: "deployment n/broken", Most: "config", Lost: "15"}}
	for i := range reportFar {
		// The 23 other start-ups take 33.5 s for pulls, and 6 of them do not wait 1.2 s for a probe.
		r.Workloads.Items = append(r.Workloads.Items, reportRow{Name: fmt.Sprintf("deployment n/far-%d", i),
			Factor: 9.8 / (33.5/23 + 1.75 - 1.2*6/23), Most: "registry"})
	}
	slow := make([]time.Duration, slowPods)
	for i := range slow {
		slow[i] = 3 * time.Second
	}
	return t, r, slow
}

func TestReportMeasured(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*fleetReport)
		want  string // part of an error; empty if the verdict passes
	}{
		"right":           {func(*fleetReport) {}, ""},
		"wrong node":      {func(r *fleetReport) { r.Nodes.Items[0].Name = "node-1" }, "the slow node is " + slowNode},
		"wrong registry":  {func(r *fleetReport) { r.Registries.Items[0].Factor = 3 }, "factor is 3.00, want 9."},
		"lost pulls":      {func(r *fleetReport) { r.Registries.Items[0].Pulls-- }, "with 4 pulls"},
		"wrong cause":     {func(r *fleetReport) { r.Causes.Items[1].Most = "node node-2" }, "loses time in config"},
		"no cause":        {func(r *fleetReport) { r.Causes.Items = r.Causes.Items[:2] }, "loses time in network"},
		"lost too little": {func(r *fleetReport) { r.Causes.Items[0].Lost = "30" }, "lost in registry: 30 s"},
		"wrong workload":  {func(r *fleetReport) { r.Workloads.Items[2].Factor = 5 }, "workload far-1: the factor"},
		"wrong part":      {func(r *fleetReport) { r.Workloads.Items[1].Most = "app" }, `far-0 loses time in "app"`},
		"no broken":       {func(r *fleetReport) { r.Workloads.Items[0].Name = "x" }, "broken loses time in config"},
		"images":          {func(r *fleetReport) { r.Images.Note = "" }, "note about images"},
		"missing rules":   {func(r *fleetReport) { r.Notes = append(r.Notes, "0 of 1 hours") }, "0 of 1 hours"},
	} {
		truth, report, slow := exampleMeasured()
		test.spoil(&report)
		v := &Verdict{}
		v.judgeMeasured(report, truth, slow)
		wrong := strings.Join(v.Wrong(), "\n")
		if (wrong != "") != (test.want != "") || !strings.Contains(wrong, test.want) {
			t.Errorf("%s: %q, want %q", name, wrong, test.want)
		}
	}
}

func TestReportEstimates(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*fleetReport)
		want  string // part of an error; empty if the verdict passes
	}{
		"equal":          {func(*fleetReport) {}, ""},
		"within limits":  {func(r *fleetReport) { r.Seconds = "102" }, ""},
		"too much":       {func(r *fleetReport) { r.Seconds = "102.1" }, "time of all start-ups"},
		"too little":     {func(r *fleetReport) { r.Causes.Items[2].Seconds = "15" }, "time of the cause network"},
		"lost start-up":  {func(r *fleetReport) { r.StartUps-- }, "23 start-ups"},
		"failure":        {func(r *fleetReport) { r.Failures++ }, "1 failed"},
		"missing node":   {func(r *fleetReport) { r.NodeCount-- }, "1 nodes"},
		"missing cause":  {func(r *fleetReport) { r.Causes.Items = r.Causes.Items[:2] }, "time of the cause network"},
		"in progress":    {func(r *fleetReport) { r.InProgress++ }, "1 in progress"},
		"without a time": {func(r *fleetReport) { r.Seconds = "" }, "time of all start-ups"},
	} {
		_, agents, _ := exampleMeasured()
		_, report, _ := exampleMeasured()
		agents.Seconds, report.Seconds = "100", "100"
		test.spoil(&report)
		v := &Verdict{}
		v.judgeEstimates(report, agents)
		wrong := strings.Join(v.Wrong(), "\n")
		if (wrong != "") != (test.want != "") || !strings.Contains(wrong, test.want) {
			t.Errorf("%s: %q, want %q", name, wrong, test.want)
		}
	}
}

func TestReportNodes(t *testing.T) {
	row := func(change func(*reportRow)) func(*fleetReport) {
		return func(r *fleetReport) { change(&r.Nodes.Items[0]) }
	}
	for name, test := range map[string]struct {
		spoil func(*fleetReport)
		want  string // part of an error; empty if the verdict passes
	}{
		"right":          {func(*fleetReport) {}, ""},
		"wrong factor":   {row(func(r *reportRow) { r.Factor = 1.5 }), "the factor is 1.50"},
		"wrong node":     {row(func(r *reportRow) { r.Name = "node-1" }), "the slow node is " + slowNode},
		"wrong work":     {row(func(r *reportRow) { r.Most = "volumes" }), "the slow node is " + slowNode},
		"too much lost":  {row(func(r *reportRow) { r.Lost = "17" }), "lost by node"},
		"too little":     {row(func(r *reportRow) { r.MostLost = "1" }), "lost in the network of node"},
		"two slow nodes": {func(r *fleetReport) { r.Nodes.Items = append(r.Nodes.Items, reportRow{}) }, "slow node"},
		"no note":        {func(r *fleetReport) { r.Notes = nil }, "want the note"},
		"one node":       {func(r *fleetReport) { r.NodeCount = 1 }, "24 start-ups of 1 nodes"},
		"wrong start-ups": {func(r *fleetReport) { r.StartUps = 18 },
			"the report contains 18 start-ups of 2 nodes"},
	} {
		truth, report := exampleReport()
		test.spoil(&report)
		v := &Verdict{}
		slow := []time.Duration{3 * time.Second, 3 * time.Second, 3 * time.Second, 3 * time.Second, 3 * time.Second,
			3 * time.Second}
		v.judgeNodes(report, 24, slow, truth.meanWork())
		wrong := strings.Join(v.Wrong(), "\n")
		if (wrong != "") != (test.want != "") || !strings.Contains(wrong, test.want) {
			t.Errorf("%s: %q, want %q", name, wrong, test.want)
		}
	}
}

// TestReportWork checks that the application's time, waits for probes and the wait for the ConfigMap do not count as
// the node's work.
func TestReportWork(t *testing.T) {
	truth, _ := exampleReport()
	want := truth.meanWork()
	if least, most := 900*time.Millisecond, 950*time.Millisecond; want < least || want > most {
		t.Errorf("work of %s, want %s to %s", want, least, most)
	}
	for _, startUps := range truth.startUps {
		for _, s := range startUps {
			s[appCause], s[schedulerCause], s[registryCause] = 3*s[appCause], time.Second, 2*s[registryCause]
		}
	}
	truth.startUps[brokenName][0][runtimeCause] = time.Minute
	if got := truth.meanWork(); got != want {
		t.Errorf("work of %s, want %s", got, want)
	}
}

// TestReportExpectsTime checks the expected time of a workload on a busy node: another start-up has more time for a
// cause, and the workload itself has more time for another cause.
func TestReportExpectsTime(t *testing.T) {
	const second = time.Second
	truth := reportTruth{startUps: map[string][]causeTimes{
		"far-0": {{registryCause: 8 * second, runtimeCause: 3 * second, appCause: second}},
		"plain": {{runtimeCause: second, appCause: 4 * second}, {runtimeCause: second, appCause: 4 * second}}}}
	for name, test := range map[string]struct {
		slow []causeTimes
		want time.Duration
	}{
		"one node":  {nil, 2 * second},
		"two nodes": {[]causeTimes{{networkCause: 9 * second, runtimeCause: 4 * second}}, 3 * second},
	} {
		if total, expected := truth.startUp("far-0", test.slow); total != 12*second || expected != test.want {
			t.Errorf("%s: a start-up of %s, expected %s; want 12s and %s", name, total, expected, test.want)
		}
	}
}
