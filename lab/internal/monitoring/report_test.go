package monitoring

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// reportQueries contains the queries of kubectl podlapse report --prometheus for the two hours before reportEnd. A test
// of package fleetmetrics, in the agent's module, writes the file.
const reportQueries = "../../../internal/fleetmetrics/fleetmetricstest/queries.txt"

// reportEnd is the time from the first sample to the end of the report. It is not the end of a window of the rules.
const reportEnd = 246 * time.Minute

// queriesOfReport returns the queries in the file, by name.
func queriesOfReport(t *testing.T) map[string]string {
	t.Helper()
	queries := map[string]string{}
	for line := range strings.Lines(string(read(t, reportQueries))) {
		name, expr, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			t.Fatalf("%s: invalid line %q", reportQueries, line)
		}
		queries[name] = expr
	}
	return queries
}

func TestReportQueriesUseExistingSeries(t *testing.T) {
	known := allMetrics(t)
	for name, expr := range queriesOfReport(t) {
		known.check(parse(t, expr), func(format string, arguments ...any) {
			t.Errorf("%s: %s\n%s", name, fmt.Sprintf(format, arguments...), expr)
		})
	}
}

const slowRegistry = "slow.example"

// reportPlay simulates two clusters. In the cluster "east", the network of node-3 takes 3 s longer, and the registry
// slow.example delivers 10 MiB in 6 s instead of 0.6 s. The agent of node-1 exports the metrics of three workloads. The
// cluster "west" has no problem. Each step has 3 start-ups on each node of "east", and 1 on each node of "west".
func reportPlay() []*fleet {
	east, west := newFleet("east"), newFleet("west")
	agents, others := east.nodes("node", 3), west.nodes("node", 2)
	for minute := 0; minute <= int(reportEnd/time.Minute); minute += int(step / time.Minute) {
		for i, a := range agents {
			p := healthy
			if i == 2 {
				p.network += 3
			}
			a.startUps(1, p)
			a.startUps(1, p.pulling(hub, 10*mib, 0.6))
			a.startUps(1, p.pulling(slowRegistry, 10*mib, 6))
		}
		for _, a := range others {
			a.startUps(1, healthy)
		}
		agents[0].workload("web", map[string]float64{"app": 2, "network": 0.5}, 1)
		agents[0].workload("db", map[string]float64{"app": 8}, 0)
		agents[0].workload("cron", map[string]float64{"app": 2}, 0)
		agents[0].waiting("pull", 1, 5)
		if minute == 201 { // the counter does not exist before the first failure
			agents[0].count("podlapse_image_pull_failures_total", `registry="slow.example",reason="timeout"`, 1)
		}
		agents[1].countWithRestart(minute)
		east.sample()
		west.sample()
	}
	return []*fleet{east, west}
}

// countWithRestart counts failed pulls of the registry restart.example: two failures at first, eight later, and one
// after a restart of the agent.
func (a *target) countWithRestart(minute int) {
	const failures, labels = "podlapse_image_pull_failures_total", `registry="restart.example",reason="timeout"`
	switch minute {
	case 150:
		a.count(failures, labels, 2)
	case 171:
		a.count(failures, labels, 8)
	case 201:
		a.unset(failures, labels)
	case 210:
		a.count(failures, labels, 1)
	}
}

// workload counts one start-up of a workload with the given seconds by cause, and further start-ups that failed.
func (a *target) workload(name string, causes map[string]float64, failures float64) {
	of := fmt.Sprintf(`namespace="shop",workload_kind="Deployment",workload=%q`, name)
	a.count("podlapse_workload_startups_total", of, 1)
	a.count("podlapse_workload_startup_failures_total", of, failures)
	for cause, seconds := range causes {
		a.count("podlapse_workload_startup_seconds_total", of+`,cause=`+quoted(cause), seconds)
	}
}

// The test evaluates the queries of the report with the rules. The expected values come from the definition of lost
// time, multiplied by ten. The two hours contain 40 steps.
func TestReportQueries(t *testing.T) {
	const (
		node, registry = `{cluster=%q, node=%q}`, `{cluster="east", registry=%q}`
		workload       = `{cluster="east", namespace="shop", workload_kind="Deployment", workload=%q`
	)
	of := func(value float64, labels string, names ...any) promtoolSample {
		return promtoolSample{fmt.Sprintf(labels, names...), math.Round(10 * value)}
	}
	onNodes := func(healthy, slow, west float64) []promtoolSample {
		return []promtoolSample{of(healthy, node, "east", "node-1"), of(healthy, node, "east", "node-2"),
			of(slow, node, "east", "node-3"), of(west, node, "west", "node-1"), of(west, node, "west", "node-2")}
	}
	want := map[string][]promtoolSample{
		"rule_hours":  {of(2, "{}")},
		"nodes":       {of(5, "{}")},
		"start_ups":   {of(3*120+2*40, `{state="ready"}`)},
		"in_progress": {of(1, "{}")},
		// A healthy start-up has 0.05 s of network. In "east", the others of node-3 have no longer network.
		"cause_seconds": {of(0.05*440+3*120, `{cause="network"}`), of(0.3*440, `{cause="volumes"}`),
			of(0.22*440, `{cause="runtime"}`), of(0.15*440, `{cause="kubelet"}`), of(6.6*120, `{cause="registry"}`),
			of(0.2*120, `{cause="disk"}`), of(0, `{cause="pull_queue"}`), of(0, `{cause="unknown"}`)},
		"cause_lost": {of(3*120, `{cause="network"}`)},
		"cause_most": {of(3*120, `{cluster="east", node="node-3", cause="network"}`)},
		// Each of the 120 start-ups has 0.72 s of work, and each of the 80 pulls 0.1 s of unpacking. The others of
		// node-1 have 1.55 s of network on average.
		"node_expected":  onNodes(0.72*120+8+1.5*120, 0.72*120+8, 0.72*40),
		"node_lost":      onNodes(-1.5*120, 3*120, 0),
		"node_most":      {of(3*120, `{cluster="east", node="node-3", work="network"}`)},
		"node_start_ups": onNodes(120, 120, 40),
		// In each hour, 20 pulls of 10 MiB on each node take 0.7 s or 6.1 s. Half a second of each does not depend on
		// the bytes, so the expected time is the time of the other registry.
		"registry_observed": {of(0.7*120, registry, hub), of(6.1*120, registry, slowRegistry)},
		"registry_expected": {of(6.1*120, registry, hub), of(0.7*120, registry, slowRegistry)},
		"registry_pulls":    {of(120, registry, hub), of(120, registry, slowRegistry)},
		"registry_bytes":    {of(1200*mib, registry, hub), of(1200*mib, registry, slowRegistry)},
		// After a restart of the agent, Prometheus does not include the first failures in the increase.
		"registry_failures": {of(1, registry, slowRegistry), of(9.2, registry, "restart.example")},
		"workload_series":   {of(3, "{}")},
		"workload_hours":    {of(2, "{}")},
		"workload_start_ups": {of(40, workload+"}", "web"), of(40, workload+"}", "db"),
			of(40, workload+"}", "cron")},
		"workload_failures": {of(40, workload+"}", "web"), of(0, workload+"}", "db"), of(0, workload+"}", "cron")},
		"workload_seconds": {of(100, workload+"}", "web"), of(320, workload+"}", "db"),
			of(80, workload+"}", "cron")},
		// The others of db have (2+2)/2 s of app, and the others of web have no network.
		"workload_lost": {of(20, workload+"}", "web"), of(6*40, workload+"}", "db"), of(0, workload+"}", "cron")},
		"workload_most": {of(20, workload+`, cause="network"}`, "web"), of(6*40, workload+`, cause="app"}`, "db")},
	}
	queries := queriesOfReport(t)
	names := slices.Sorted(maps.Keys(queries))
	if expected := slices.Sorted(maps.Keys(want)); !slices.Equal(names, expected) {
		t.Fatalf("the queries are\n%v\nbut the test expects\n%v", names, expected)
	}
	group := promtoolGroup{Interval: step.String()}
	for _, f := range reportPlay() {
		for _, name := range slices.Sorted(maps.Keys(f.series)) {
			group.Input = append(group.Input, map[string]string{"series": name, "values": f.series[name].text()})
		}
	}
	for _, name := range names {
		expr := fmt.Sprintf("round(10 * (%s))", queries[name])
		if name == "cause_lost" || strings.HasSuffix(name, "_most") {
			expr += " > 0" // these queries also return rounding errors
		}
		group.Queries = append(group.Queries, promtoolExpression{expr, reportEnd.String(), want[name]})
	}
	rules, err := filepath.Abs(filepath.Join(manifests, "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := yaml.Marshal(promtoolTest{[]string{rules}, step.String(), []promtoolGroup{group}})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := run(t, promtool(t), file); err != nil {
		t.Errorf("the queries have other results: %v\n%s", err, out)
	}
}
