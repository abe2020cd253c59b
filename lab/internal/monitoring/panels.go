package monitoring

// worst returns an expression that limits a graph to the series with the highest values in the dashboard's time range.
// Without this limit, the graph of a fleet with 400 nodes would have 400 lines. The argument "by" contains the labels
// that identify a series.
func worst(series, by string) string {
	return series + ` and on (` + by + `) topk($top, max_over_time(` + series + `[$__range] @ end()))`
}

// rowsOf returns an expression for a table column. The column contains only the rows that the expression "selected"
// returns. The argument "by" contains the labels that identify a row.
func rowsOf(column, by, selected string) string {
	return column + ` and on (` + by + `) (` + selected + `)`
}

const (
	needsPodLabels = "Requires agents with `--metrics-pod-labels=on`."
	ofTheWorst     = " The panel shows only the highest values. " +
		"The variable \"lines per panel\" sets the number of lines."

	// slowNodes selects the nodes with the highest node factors, and also the nodes with the slowest start-ups. The
	// node factor is the time of a node's start-up work, divided by the time that the other nodes would need for the
	// same work.
	slowNodes = `topk($top, node:podlapse_node_factor:ratio1h) or on (cluster, node) ` +
		`topk($top, node:podlapse_pod_startup_duration_seconds:quantile1h{quantile="0.99"})`
	slowWorkloads = `topk($top, max by (cluster, namespace, workload_kind, workload) ` +
		`(podlapse_pod_startup_seconds{namespace=~"$namespace", node=~"$node", state="ready"}))`
	workload = `cluster, namespace, workload_kind, workload`
)

// sections contains all rows of the dashboard, with the top row first.
var sections = []section{
	{title: "Fleet", panels: []panel{
		{number, "Start-ups in 15 minutes", "none", 4, "Pods that became ready or succeeded.", []query{
			{expr: `sum(node:podlapse_pod_startup_duration_seconds_count:increase15m)`}}, ""},
		{number, "Start-ups within 5 s (Kubernetes SLI)", "percentunit", 5,
			"Share in the past hour, excluding pulls and init containers. The Kubernetes SLO is 99 %.", []query{
				{expr: `avg(fleet:podlapse_pod_startup_sli_within_5s:ratio1h)`}}, ""},
		{number, "Pods starting now", "none", 3, "", []query{{expr: `sum(podlapse_pods_starting)`}}, ""},
		{number, "Nodes with an agent", "none", 3, "", []query{
			{expr: `count(count by (cluster, node) (podlapse_build_info))`}}, ""},
		{number, "Nodes without a node factor", "none", 4,
			"The container runtime of these nodes cannot report when the network was ready (CRI-O) or when a sandbox " +
				"was running (containerd 1.x).",
			[]query{{expr: `count(node:podlapse_node_factor:unavailable) or vector(0)`}}, ""},
		{number, "Firing alerts", "none", 5, "", []query{
			{expr: `sum by (alertname) (ALERTS{alertname=~"Podlapse.*", alertstate="firing"})`, name: "{{alertname}}"}},
			""},
		{graph, "Start-up duration", "s", 12,
			"Quantiles over 15 minutes of the time from creation until ready.", []query{
				{expr: `fleet:podlapse_pod_startup_duration_seconds:quantile15m`, name: "{{quantile}} {{cluster}}"},
				{expr: `fleet:podlapse_pod_startup_sli_duration_seconds:quantile15m`,
					name: "{{quantile}} of the SLI {{cluster}}"}}, ""},
		{graph, "Completed start-ups by result", "none", 12, "Number in 15 minutes.", []query{
			{expr: `sum by (state) (increase(podlapse_pod_startups_total[15m]))`, name: "{{state}}"}}, ""},
		{stack, "Mean start-up duration by phase", "s", 12, "",
			[]query{
				{expr: `sum by (phase) (phase:podlapse_pod_phase_duration_seconds:mean15m > 0)`, name: "{{phase}}"},
			},
			""},
		{stack, "Mean start-up duration by cause", "s", 12, "",
			[]query{
				{expr: `sum by (cause) (cause:podlapse_pod_phase_duration_seconds:mean15m > 0)`, name: "{{cause}}"},
			},
			""},
		{table, "Slowest nodes", "", 12,
			"Node factor: time for the same work relative to the other nodes, excluding pulls, in the past hour.",
			[]query{
				{rowsOf(`node:podlapse_node_factor:ratio1h`, "cluster, node", slowNodes), "node factor", "none"},
				{
					rowsOf(`node:podlapse_node_lost_seconds:mean1h`, "cluster, node", slowNodes),
					"lost per start-up",
					"s",
				},
				{rowsOf(`node:podlapse_pull_queue:ratio1h`, "cluster, node", slowNodes), "time in the pull queue",
					"percentunit"},
				{
					rowsOf(
						`sum by (cluster, node) `+
							`(node:podlapse_pod_startup_duration_seconds:quantile1h{quantile="0.5"})`,
						"cluster, node",
						slowNodes,
					),
					"p50 start-up",
					"s",
				},
				{
					rowsOf(
						`sum by (cluster, node) `+
							`(node:podlapse_pod_startup_duration_seconds:quantile1h{quantile="0.99"})`,
						"cluster, node",
						slowNodes,
					),
					"p99 start-up",
					"s",
				}},
			"node"},
		{table, "Registries", "", 12, "Registry factor: pull time relative to other registries on the same nodes, or " +
			"to the day before if there is no other registry. Data of the past hour.", []query{
			{`topk($top, registry:podlapse_registry_factor:ratio1h)`, "registry factor", "none"},
			{`registry:podlapse_registry_lost_seconds:mean1h`, "lost per pull", "s"},
			{`registry:podlapse_registry_slow_nodes:ratio1h`, "affected nodes", "percentunit"},
			{`registry:podlapse_image_pull_bytes_per_second:mean1h`, "rate", "binBps"},
			{`registry:podlapse_image_pulls:increase1h`, "pulls", "none"},
			{`registry:podlapse_image_pulls_sized:increase1h`, "pulls with known bytes", "none"}}, "registry"},
	}},
	{title: "Node $node", panels: []panel{
		{graph, "Node factor", "none", 8, "Time for the same work relative to the other nodes, in the past hour. " +
			"PodlapseNodeSlow requires more than 2, and more than 1 s lost per start-up." + ofTheWorst, []query{
			{expr: worst(`node:podlapse_node_factor:ratio1h{node=~"$node"}`, "cluster, node"), name: "{{node}}"}},
			"node"},
		{stack, "Time lost relative to the other nodes, by work", "s", 8,
			"Data of the past hour. A value is negative if the node was faster.", []query{
				{expr: `sum by (work) (node_work:podlapse_node_lost_seconds:increase1h{node=~"$node"})`,
					name: "{{work}}"}}, ""},
		{graph, "Start-up duration, p99", "s", 8, "Data of the past hour." + ofTheWorst, []query{
			{expr: worst(`node:podlapse_pod_startup_duration_seconds:quantile1h{node=~"$node", quantile="0.99"}`,
				"cluster, node"), name: "{{node}}"}}, "node"},
		{stack, "Mean start-up duration by phase", "s", 8, "", []query{
			{expr: `sum by (phase) (node_phase:podlapse_pod_phase_duration_seconds_sum:increase15m{node=~"$node"}) / ` +
				`on () group_left () ` +
				`sum(node:podlapse_pod_startup_duration_seconds_count:increase15m{node=~"$node"}) > 0`,
				name: "{{phase}}"}}, ""},
		{stack, "Mean start-up duration by cause", "s", 8, "", []query{
			{expr: `sum by (cause) (node_cause:podlapse_pod_phase_duration_seconds_sum:increase15m{node=~"$node"}) / ` +
				`on () group_left () ` +
				`sum(node:podlapse_pod_startup_duration_seconds_count:increase15m{node=~"$node"}) > 0`,
				name: "{{cause}}"}}, ""},
		{graph, "Share of start-up time in the pull queue", "percentunit", 8,
			"PodlapseNodePullQueueBound requires more than 30 %, and more than 5 s per start-up." + ofTheWorst, []query{
				{expr: worst(`node:podlapse_pull_queue:ratio1h{node=~"$node"}`, "cluster, node"), name: "{{node}}"}},
			"node"},
		{stack, "Pods starting now, by phase", "none", 12, "", []query{
			{expr: `sum by (phase) (podlapse_pods_starting{node=~"$node"})`, name: "{{phase}}"}}, ""},
		{graph, "Longest time of a pod in its current phase", "s", 12, "PodlapsePodsStuckInPhase uses this time.",
			[]query{{expr: `max by (phase) (podlapse_pods_starting_oldest_age_seconds{node=~"$node"})`,
				name: "{{phase}}"}}, ""},
	}},
	{title: NodeStartUpRow, panels: nodeStartUpPanels, collapsed: true},
	{title: "Registry $registry", panels: registryPanels},
	{title: "Workloads in $namespace", panels: []panel{
		{table, "Slowest workloads", "", 14, "Start-ups of existing pods. " + needsPodLabels, []query{
			{slowWorkloads, "slowest start-up", "s"},
			{rowsOf(`avg by (cluster, namespace, workload_kind, workload) `+
				`(podlapse_pod_startup_seconds{namespace=~"$namespace", node=~"$node", state="ready"})`, workload,
				slowWorkloads), "mean start-up", "s"},
			{rowsOf(`count by (cluster, namespace, workload_kind, workload) `+
				`(podlapse_pod_startup_seconds{namespace=~"$namespace", node=~"$node", state="ready"})`, workload,
				slowWorkloads), "ready pods", "none"},
			{rowsOf(`count by (cluster, namespace, workload_kind, workload) `+
				`(podlapse_pod_startup_seconds{namespace=~"$namespace", node=~"$node", state="starting"})`, workload,
				slowWorkloads), "starting pods", "none"}}, "namespace"},
		{table, "Pods starting now", "", 10, "Time in the current phase. " + needsPodLabels, []query{
			{`topk($top, max by (namespace, pod, phase, cause, node) ` +
				`(podlapse_pod_phase_age_seconds{namespace=~"$namespace", node=~"$node"}))`, "in this phase", "s"}},
			"namespace"},
		{table, "Start-up of existing pods", "", 16, needsPodLabels, []query{
			{`topk(100, sum by (namespace, pod, workload_kind, workload, state, node) ` +
				`(podlapse_pod_startup_seconds{namespace=~"$namespace", node=~"$node"}))`,
				"start-up", "s"}}, "namespace"},
		{text, "Where the time of one pod went", "", 8, "Phases of one pod, with sources and error bounds:\n\n" +
			"```\nkubectl podlapse explain POD -n NAMESPACE\n```\n\nPulls in progress on all nodes:\n\n" +
			"```\nkubectl podlapse pulls\n```", nil, ""},
	}},
	{title: WorkloadsRow, panels: workloadPanels, collapsed: true},
	{title: "Evidence and agents", panels: evidencePanels},
}
