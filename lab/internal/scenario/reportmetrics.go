package scenario

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/monitoring"
	"github.com/podlapse/podlapse/lab/internal/node"
	"github.com/podlapse/podlapse/lab/internal/prometheus"
)

// reportScrape is the time between two scrapes of the agents.
const reportScrape = time.Second

// estimateError is the largest accepted relative difference between a sum from Prometheus and the same sum from the
// agents. Prometheus measures the increase of a counter between the first and the last scrape in the window.
// Prometheus also extrapolates the increase beyond the last scrape, by at most 1.1 times reportScrape. In the
// scenario, the first and the last scrape are at least 90 s apart. Therefore, a sum is at most 1.3 % too large. The
// sums contain all start-ups, because Prometheus scrapes both agents before the first start-up and after the last
// start-up.
const estimateError = 0.02

// reportMetrics is the Prometheus server of the scenario. The server scrapes the agents of both nodes, and evaluates
// the rules in the manifests.
type reportMetrics struct {
	b      *bench.Bench
	v      *Verdict
	client prometheus.Client
	rules  []byte
}

// monitorReport starts Prometheus before the first start-up. At this time, the report must contain no start-ups.
func (v *Verdict) monitorReport(ctx context.Context, b *bench.Bench) (reportMetrics, error) {
	m := reportMetrics{b: b, v: v}
	rules, err := node.Rules()
	if err != nil {
		return m, err
	}
	// With shorter intervals, Prometheus evaluates the rules sooner, so the scenario takes less time. The windows of
	// the rules stay the same.
	m.rules = bytes.ReplaceAll(rules, []byte("interval: 1m"), []byte("interval: 5s"))
	if m.client, err = b.Node.StartMonitoring(ctx, node.Monitoring{Interval: reportScrape, Rules: m.rules,
		Extra: slowNode}); err != nil {
		return m, err
	}
	v.Compared++
	return m, b.Node.Report.Wait(ctx, "the report from Prometheus", 10*time.Second, reportScrape,
		func(ctx context.Context) error {
			text, err := m.runReport(ctx)
			if want := "2 nodes, 0 start-ups (0 unsuccessful)"; err == nil && (!strings.Contains(text, want) ||
				strings.Count(text, "(no start-ups in this time)") != 2) {
				err = fmt.Errorf("before the first start-up, the report must contain %q, and must contain \"(no "+
					"start-ups in this time)\" twice, but the report is:\n%s", want, text)
			}
			return err
		})
}

// runReport runs the command "report", and returns its output.
func (m reportMetrics) runReport(ctx context.Context, arguments ...string) (string, error) {
	return runAgent(ctx, m.b, append(reportFrom(m.client.Server), arguments...)...)
}

// reportFrom returns the arguments for a report from the given Prometheus server.
func reportFrom(server string) []string {
	return []string{"report", "--prometheus", server, "--since", "1h", "--rows", "100"}
}

// judge compares the report from Prometheus with the truth and with the report from the agents. Then judge checks two
// rows of the dashboard, and the error messages of reports that fail.
func (m reportMetrics) judge(ctx context.Context, agents fleetReport, t reportTruth, slow []time.Duration) error {
	// The period of a report ends at the latest full second. Therefore, this query checks the results of the rules
	// from two seconds ago.
	all := fmt.Sprintf("sum(%%s offset 2s) > %d - 0.5", agents.StartUps)
	ended := fmt.Sprintf(all+" and on () "+all, "node:podlapse_pod_startup_duration_seconds_count:increase1h",
		"namespace_workload:podlapse_workload_startups:increase1h")
	if err := requireResult(ctx, m.b, m.v, m.client, "rules about all start-ups", ended); err != nil {
		return err
	}
	began := time.Now()
	text, err := m.runReport(ctx, "-o", "json")
	if err != nil {
		return err
	}
	m.v.inTime("report from Prometheus", time.Since(began))
	var found fleetReport
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		return fmt.Errorf("read the report from Prometheus: %w", err)
	}
	m.v.judgeEstimates(found, agents)
	m.v.judgeMeasured(found, t, slow)
	if text, err = m.runReport(ctx); err != nil {
		return err
	}
	m.v.Note("report from Prometheus:\n%s", text)
	if err := m.judgeDashboard(ctx); err != nil {
		return err
	}
	return m.judgeRemedies(ctx)
}

// judgeEstimates compares the sums in the report from Prometheus with the sums in the report from the agents.
func (v *Verdict) judgeEstimates(r, agents fleetReport) {
	v.Compared++
	if r.NodeCount != agents.NodeCount || r.StartUps != agents.StartUps || r.Failures != agents.Failures ||
		r.InProgress != agents.InProgress {
		v.Problem("Prometheus reports %d nodes and %d start-ups, %d failed, %d in progress; the agents report %d, %d, "+
			"%d, %d", r.NodeCount, r.StartUps, r.Failures, r.InProgress, agents.NodeCount, agents.StartUps,
			agents.Failures, agents.InProgress)
	}
	v.compareEstimate("time of all start-ups", r.Seconds, agents.Seconds)
	for _, cause := range []string{"network", "config", registryCause} {
		estimate, _ := r.Causes.row(cause)
		sum, _ := agents.Causes.row(cause)
		v.compareEstimate("time of the cause "+cause, estimate.Seconds, sum.Seconds)
	}
}

func (v *Verdict) compareEstimate(what string, estimate, sum json.Number) {
	truth, err := agent.Nanoseconds(sum)
	if err != nil {
		v.Problem("%s: the agents report %q: %v", what, sum, err)
		return
	}
	v.compareNumber("Prometheus: "+what, 0, truth, estimate, time.Duration(estimateError*float64(truth)))
}

// judgeMeasured compares the report from Prometheus with the injected faults. The argument "slow" contains the true
// durations of the slow node's start-ups.
func (v *Verdict) judgeMeasured(r fleetReport, t reportTruth, slow []time.Duration) {
	v.judgeWorstNode(r.Nodes, slow, t.meanWork())
	registry, there := r.Registries.row(node.OtherRegistry)
	v.compareFactor("Prometheus: registry "+node.OtherRegistry, t.registryFactor(), registry, there)
	if v.Compared++; len(r.Registries.Items) != 1 || registry.Pulls != reportFar {
		v.Problem("Prometheus: the slow registry is %s with %d pulls, but the report contains %+v", node.OtherRegistry,
			reportFar, r.Registries)
	}
	pulls, _ := t.sumOfPulls(func(string) bool { return true })
	delays := slowNetwork * time.Duration(len(slow))
	for _, fault := range []struct {
		cause, node string
		least, most time.Duration // limits of the lost time
	}{
		// For the same work, the slow node needs more network time than the other node. The lost time is the
		// difference.
		{"network", slowNode, delays / 2, delays + delays/4},
		{"config", layout.NodeName, configDelay - 2*time.Second, configRetry},
		{registryCause, layout.NodeName, pulls - pulls/4, pulls + pulls/4},
	} {
		row, there := r.Causes.row(fault.cause)
		if v.Compared++; !there || row.Most != "node "+fault.node {
			v.Problem("Prometheus: node %s loses time in %s, but the report contains %+v", fault.node, fault.cause,
				r.Causes.Items)
			continue
		}
		v.requireBetween("Prometheus: lost in "+fault.cause, fault.least, fault.most, row)
	}
	of := func(name string) (reportRow, bool) { return r.Workloads.row("deployment " + t.namespace + "/" + name) }
	for name := range t.images {
		if row, there := of(name); isFar(name) {
			// The report from Prometheus compares a workload with all other workloads on all nodes, including the slow
			// node.
			total, expected := t.startUp(name, slowStartUps(slow))
			v.compareFactor("Prometheus: workload "+name, total.Seconds()/expected.Seconds(), row, there)
			if v.Compared++; row.Most != registryCause {
				v.Problem("Prometheus: %s loses time in %q, want %s", name, row.Most, registryCause)
			}
		}
	}
	if broken, there := of(brokenName); !there || broken.Most != "config" {
		v.Problem("Prometheus: the workload broken loses time in config, but the report contains %+v", broken)
	} else {
		v.requireBetween("Prometheus: lost by broken", configDelay-2*time.Second, configRetry, broken)
	}
	v.Compared += 3
	if !strings.Contains(r.Images.Note, "the metrics do not name images") {
		v.Problem("Prometheus: the note about images is %q", r.Images.Note)
	}
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "Prometheus estimates numbers") {
		v.Problem("Prometheus: the notes are %q, want only the note about estimates", r.Notes)
	}
}

// slowStartUps returns the time by cause for each start-up on the slow node. These start-ups need no pull and wait for
// no probe.
func slowStartUps(lengths []time.Duration) (all []causeTimes) {
	for _, length := range lengths {
		all = append(all, causeTimes{volumesCause: slowVolumes, networkCause: slowNetwork,
			runtimeCause: length - slowVolumes - slowNetwork})
	}
	return all
}

// judgeDashboard runs all queries in two rows of the dashboard: the row about node start-ups and the row about
// workloads. Each query must return data.
func (m reportMetrics) judgeDashboard(ctx context.Context) error {
	for _, row := range []string{monitoring.NodeStartUpRow, monitoring.WorkloadsRow} {
		panels, err := monitoring.RowQueries(row)
		if err != nil {
			return err
		}
		for panel, queries := range panels {
			for _, query := range queries {
				samples, err := m.client.Query(ctx, query)
				if err != nil {
					return err
				}
				if m.v.Compared++; len(samples) == 0 {
					m.v.Problem("dashboard, row %s, panel %s: the query returns no data: %s", row, panel, query)
				}
			}
		}
	}
	return nil
}
