package fleetmetrics

import (
	"fmt"
	"math"

	"github.com/prometheus/common/model"

	"github.com/podlapse/podlapse/internal/report"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// query is a PromQL expression with a name. The function "take" stores one sample of the result in m.
type query struct {
	name string
	expr string
	take func(m *report.Measured, of model.Metric, value float64)
}

const (
	byNode     = "cluster, node"
	byRegistry = "cluster, registry"
	byPool     = "cluster, pool, work"
	byWork     = "cluster, node, pool, work"
	byWorkload = "cluster, namespace, workload_kind, workload"

	// leastOthers is the minimum for a comparison of a node or workload with the others. To compare start-ups, the
	// other nodes or workloads must together have at least leastOthers start-ups. To compare work, the other nodes must
	// together have done at least leastOthers units of the same kind of work. rules.yaml defines the unit of each kind
	// of work. For example, one unit of unpacking is 20 MiB.
	leastOthers = 5
)

// presenceQueries returns the queries that check whether Prometheus has the data for a report.
func (p period) presenceQueries() []query {
	return []query{
		{"rule_hours", fmt.Sprintf("max(%s)",
			p.overTime("count_over_time", `podlapse:phase_cause:info{phase="pull"}`, hour)),
			func(m *report.Measured, _ model.Metric, value float64) { m.RuleHours = whole(value) }},
		{"nodes", fmt.Sprintf("count(count by (%s) (%s))", byNode,
			p.overTime("count_over_time", "podlapse_build_info", quarter)),
			func(m *report.Measured, _ model.Metric, value float64) { m.NodeCount = whole(value) }},
	}
}

// reportQueries returns the queries for all numbers in a report.
func (p period) reportQueries() []query {
	all := []query{
		{"start_ups", fmt.Sprintf("sum by (state) (increase(podlapse_pod_startups_total[%ds]))",
			int(p.length().Seconds())),
			func(m *report.Measured, of model.Metric, value float64) {
				m.StartUps += value
				switch timeline.State(of["state"]) {
				case timeline.StateReady, timeline.StateSucceeded:
				default:
					m.Failures += value
				}
			}},
		{"in_progress", "sum(podlapse_pods_starting)",
			func(m *report.Measured, _ model.Metric, value float64) { m.InProgress = value }},
	}
	all = append(all, p.causeQueries()...)
	all = append(all, p.nodeQueries()...)
	all = append(all, p.registryQueries()...)
	return append(all, p.workloadQueries()...)
}

// lostSeconds returns a PromQL expression for the seconds that the start-ups of each node or workload lost, by cause.
// The lost seconds are the observed seconds minus the expected seconds, but at least 0. To compute the expected seconds
// of a node or workload, the expression multiplies two numbers: the number of its start-ups, and the mean time of all
// other start-ups in the cluster.
func lostSeconds(seconds, startUps, by string) string {
	ofOthers := fmt.Sprintf("(sum by (cluster, cause) (%[1]s) - on (cluster, cause) group_right () %[1]s)", seconds)
	share := fmt.Sprintf("(%[1]s / on (%[2]s) ((sum by (cluster) (%[1]s) - on (cluster) group_right () %[1]s) >= "+
		"%[3]d))", startUps, by, leastOthers)
	return fmt.Sprintf("clamp_min(%s - on (%[2]s, cause) %[3]s * on (%[2]s) group_left () %[4]s, 0)", seconds, by,
		ofOthers, share)
}

func (p period) causeQueries() []query {
	seconds := p.sumOverTime("node_cause:podlapse_pod_phase_duration_seconds_sum:increase15m", quarter)
	startUps := p.sumOverTime("node:podlapse_pod_startup_duration_seconds_count:increase15m", quarter)
	lost := lostSeconds(seconds, startUps, byNode)
	row := func(m *report.Measured, of model.Metric) *report.MeasuredRow {
		return m.Causes.Row(string(of["cause"]))
	}
	return []query{
		{"cause_seconds", fmt.Sprintf("sum by (cause) (%s)", seconds),
			func(m *report.Measured, of model.Metric, value float64) { row(m, of).Seconds = value }},
		{"cause_lost", fmt.Sprintf("sum by (cause) (%s)", lost),
			func(m *report.Measured, of model.Metric, value float64) { row(m, of).Lost, m.Compared = value, true }},
		{"cause_most", fmt.Sprintf("topk by (cause) (1, %s)", lost),
			func(m *report.Measured, of model.Metric, value float64) {
				row(m, of).Most, row(m, of).MostLost = "node "+inCluster(of["node"], of), value
			}},
	}
}

// nodeQueries returns queries that compare the work of each node with the work of the other nodes in its pool. The
// recording rules make the same comparison for each hour, and these queries make it for the whole period. A rule
// compares a node only if the other nodes did enough of the same kind of work in one hour: at least leastOthers units.
// A query compares a node only if the other nodes did at least leastOthers units of this work in the whole period.
func (p period) nodeQueries() []query {
	seconds := p.sumOverTime("node_pool_work:podlapse_node_work_seconds:increase1h", hour)
	units := p.sumOverTime("node_pool_work:podlapse_node_work_units:increase1h", hour)
	ofOthers := func(sums string) string {
		return fmt.Sprintf("(sum by (%[2]s) (%[1]s) - on (%[2]s) group_right () %[1]s)", sums, byPool)
	}
	expected := fmt.Sprintf("(%[1]s > 0) * on (%[2]s) %[3]s / on (%[2]s) (%[4]s >= %[5]d)", units, byWork,
		ofOthers(seconds), ofOthers(units), leastOthers)
	lost := fmt.Sprintf("%s - on (%s) %s", seconds, byWork, expected)
	withFactor := fmt.Sprintf("unless on (%s) %s", byNode,
		p.overTime("count_over_time", "node:podlapse_node_factor:unavailable", hour))
	row := func(m *report.Measured, of model.Metric) *report.MeasuredRow {
		return m.Nodes.Row(inCluster(of["node"], of))
	}
	return []query{
		{"node_expected", fmt.Sprintf("sum by (%s) (%s) %s", byNode, expected, withFactor),
			func(m *report.Measured, of model.Metric, value float64) { row(m, of).Expected = value }},
		{"node_lost", fmt.Sprintf("sum by (%s) (%s) %s", byNode, lost, withFactor),
			func(m *report.Measured, of model.Metric, value float64) { row(m, of).Lost = value }},
		{"node_most", fmt.Sprintf("topk by (%s) (1, sum by (%s, work) (%s)) %s", byNode, byNode, lost, withFactor),
			func(m *report.Measured, of model.Metric, value float64) {
				row(m, of).Most, row(m, of).MostLost = string(of["work"]), value
			}},
		{"node_start_ups", p.sumOverTime("node:podlapse_pod_startup_duration_seconds_count:increase1h", hour),
			func(m *report.Measured, of model.Metric, value float64) { row(m, of).StartUps = value }},
	}
}

// registryQueries returns the queries about registries. One query counts the failed pulls. The other queries add up the
// hourly results of the recording rules. For each hour, the rules compute the expected duration of the pulls from each
// registry.
func (p period) registryQueries() []query {
	sum := func(series string) string {
		return fmt.Sprintf("sum by (%s) (%s)", byRegistry, p.sumOverTime(series, hour))
	}
	take := func(store func(row *report.MeasuredRow, value float64)) func(*report.Measured, model.Metric, float64) {
		return func(m *report.Measured, of model.Metric, value float64) {
			if of["registry"] != api.OtherRegistries { // "other" stands for several registries
				store(m.Registries.Row(inCluster(of["registry"], of)), value)
			}
		}
	}
	return []query{
		{"registry_observed", sum("node_registry:podlapse_image_pull_observed_seconds:increase1h"),
			take(func(row *report.MeasuredRow, value float64) { row.Lost += value })},
		{"registry_expected", sum("node_registry:podlapse_image_pull_expected_seconds:increase1h"),
			take(func(row *report.MeasuredRow, value float64) { row.Expected, row.Lost = value, row.Lost-value })},
		{"registry_pulls", sum("registry:podlapse_image_pulls_sized:increase1h"),
			take(func(row *report.MeasuredRow, value float64) { row.Pulls = value })},
		{"registry_bytes", sum("registry:podlapse_image_pull_sized_bytes:increase1h"),
			take(func(row *report.MeasuredRow, value float64) { row.Bytes = value })},
		{"registry_failures", fmt.Sprintf("sum by (%s) (%s)", byRegistry,
			p.increase("podlapse_image_pull_failures_total")),
			take(func(row *report.MeasuredRow, value float64) { row.Failures = value })},
	}
}

func (p period) workloadQueries() []query {
	seconds := p.sumOverTime("namespace_workload_cause:podlapse_workload_startup_seconds:increase1h", hour)
	startUps := p.sumOverTime("namespace_workload:podlapse_workload_startups:increase1h", hour)
	lost := lostSeconds(seconds, startUps, byWorkload)
	take := func(store func(row *report.MeasuredRow, value float64)) func(*report.Measured, model.Metric, float64) {
		return func(m *report.Measured, of model.Metric, value float64) {
			if of["workload_kind"] != "" { // the workload "other" has no kind, and stands for several workloads
				store(workloadRow(m, of), value)
			}
		}
	}
	return []query{
		{"workload_series", "count(podlapse_workload_startups_total)",
			func(m *report.Measured, _ model.Metric, value float64) { m.WorkloadSeries = whole(value) }},
		{"workload_hours", p.hoursWith("namespace_workload:podlapse_workload_startups:increase1h"),
			func(m *report.Measured, _ model.Metric, value float64) { m.WorkloadHours = whole(value) }},
		{"workload_start_ups", startUps, func(m *report.Measured, of model.Metric, value float64) {
			if of["workload_kind"] == "" {
				m.OtherStartUps += value
			} else {
				workloadRow(m, of).StartUps = value
			}
		}},
		{"workload_failures", p.sumOverTime("namespace_workload:podlapse_workload_startup_failures:increase1h", hour),
			take(func(row *report.MeasuredRow, value float64) { row.Failures = value })},
		{"workload_seconds", fmt.Sprintf("sum by (%s) (%s)", byWorkload, seconds),
			take(func(row *report.MeasuredRow, value float64) { row.Seconds = value })},
		{"workload_lost", fmt.Sprintf("sum by (%s) (%s)", byWorkload, lost),
			func(m *report.Measured, of model.Metric, value float64) {
				if of["workload_kind"] != "" {
					workloadRow(m, of).Lost, m.ComparedWorkloads = value, true
				}
			}},
		{"workload_most", fmt.Sprintf("topk by (%s) (1, %s)", byWorkload, lost),
			func(m *report.Measured, of model.Metric, value float64) {
				if of["workload_kind"] != "" {
					row := workloadRow(m, of)
					row.Most, row.MostLost = string(of["cause"]), value
				}
			}},
	}
}

// whole converts a number of hours, nodes or series to an integer. The result is not negative, even if a broken server
// returns a negative number.
func whole(number float64) int { return int(min(max(number, 0), math.MaxInt32)) }

func workloadRow(m *report.Measured, of model.Metric) *report.MeasuredRow {
	name := report.WorkloadName(string(of["namespace"]), string(of["workload_kind"]), string(of["workload"]))
	return m.Workloads.Row(inCluster(model.LabelValue(name), of))
}

// inCluster adds the name of the cluster to the name of a node, registry or workload. If the sample has no label
// "cluster", inCluster returns the name unchanged.
func inCluster(name model.LabelValue, of model.Metric) string {
	if cluster := of["cluster"]; cluster != "" {
		return fmt.Sprintf("%s in cluster %s", name, cluster)
	}
	return string(name)
}
