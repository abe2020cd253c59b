package monitoring

// sections is everything that the dashboard shows, from the fleet to the pod.
var sections = []section{
	{"Fleet", []panel{
		{number, "Start-ups in 15 min", "none", 4, "Pods that became ready or succeeded.", []query{
			{`sum(node:podlapse_pod_startup_duration_seconds_count:increase15m)`, ""}}, ""},
		{number, "Within 5 s, by the Kubernetes SLI", "percentunit", 5,
			"Past hour, excluding pulls and init containers. The Kubernetes SLO is 99 %.", []query{
				{`fleet:podlapse_pod_startup_sli_within_5s:ratio1h`, ""}}, ""},
		{number, "Pods starting", "none", 4, "", []query{{`sum(podlapse_pods_starting)`, ""}}, ""},
		{number, "Nodes with an agent", "none", 4, "", []query{{`count(count by (node) (podlapse_build_info))`, ""}},
			""},
		{number, "Alerts", "none", 7, "Firing now.", []query{
			{`sum by (alertname) (ALERTS{alertname=~"Podlapse.*", alertstate="firing"})`, "{{alertname}}"}}, ""},
		{graph, "Start-up", "s", 12, "From creation until ready, over 15 minutes.", []query{
			{`fleet:podlapse_pod_startup_duration_seconds:quantile15m`, "{{quantile}}"},
			{`fleet:podlapse_pod_startup_sli_duration_seconds:quantile15m`, "{{quantile}} of the SLI"}}, ""},
		{graph, "Start-ups that ended", "none", 12, "Per 15 minutes, by result.", []query{
			{`sum by (state) (increase(podlapse_pod_startups_total[15m]))`, "{{state}}"}}, ""},
		{stack, "Mean start-up by phase", "s", 12, "",
			[]query{{`phase:podlapse_pod_phase_duration_seconds:mean15m > 0`, "{{phase}}"}}, ""},
		{stack, "Mean start-up by cause", "s", 12, "",
			[]query{{`cause:podlapse_pod_phase_duration_seconds:mean15m > 0`, "{{cause}}"}}, ""},
		{table, "Slowest nodes", "short", 12,
			"Factor: time for the same work relative to the other nodes, excluding pulls. Times in seconds.", []query{
				{`node:podlapse_node_factor:ratio1h`, "factor"},
				{`node:podlapse_node_lost_seconds:mean1h`, "lost per start-up"},
				{`node:podlapse_pull_queue:ratio1h`, "queue share"},
				{`sum by (node) (node:podlapse_pod_startup_duration_seconds:quantile1h{quantile="0.5"})`, "p50"},
				{`sum by (node) (node:podlapse_pod_startup_duration_seconds:quantile1h{quantile="0.99"})`, "p99"}},
			"node"},
		{table, "Registries", "short", 12, "Factor: pull time relative to other registries on the same nodes, or to " +
			"the day before if there is no other.", []query{
			{`registry:podlapse_registry_factor:ratio1h`, "factor"},
			{`registry:podlapse_registry_lost_seconds:mean1h`, "s lost per pull"},
			{`registry:podlapse_registry_slow_nodes:ratio1h`, "share of nodes"},
			{`registry:podlapse_image_pull_bytes_per_second:mean1h / 1024 / 1024`, "MiB/s"},
			{`registry:podlapse_image_pulls:increase1h`, "pulls"}}, "registry"},
	}},
	{"Node $node", []panel{
		{graph, "Node factor", "short", 8, "This node relative to the others for the same work, over an hour. " +
			"PodlapseNodeSlow: more than 2, and more than 1 s lost.", []query{
			{`node:podlapse_node_factor:ratio1h{node=~"$node"}`, "{{node}}"}}, "node"},
		{stack, "Time lost relative to other nodes, by work", "s", 8, "Over an hour; negative if the node was faster.",
			[]query{
				{`sum by (work) (node_work:podlapse_node_lost_seconds:increase1h{node=~"$node"})`, "{{work}}"}}, ""},
		{graph, "Start-up, p99 over an hour", "s", 8, "", []query{
			{`node:podlapse_pod_startup_duration_seconds:quantile1h{node=~"$node", quantile="0.99"}`, "{{node}}"}},
			"node"},
		{stack, "Mean start-up by phase", "s", 8, "", []query{
			{`sum by (phase) (node_phase:podlapse_pod_phase_duration_seconds_sum:increase15m{node=~"$node"}) / ` +
				`on () group_left () ` +
				`sum(node:podlapse_pod_startup_duration_seconds_count:increase15m{node=~"$node"}) > 0`,
				"{{phase}}"}}, ""},
		{stack, "Mean start-up by cause", "s", 8, "", []query{
			{`sum by (cause) (node_cause:podlapse_pod_phase_duration_seconds_sum:increase15m{node=~"$node"}) / ` +
				`on () group_left () ` +
				`sum(node:podlapse_pod_startup_duration_seconds_count:increase15m{node=~"$node"}) > 0`,
				"{{cause}}"}}, ""},
		{graph, "Share of start-up time in the pull queue", "percentunit", 8,
			"PodlapseNodePullQueueBound: more than 30 %, and more than 5 s.", []query{
				{`node:podlapse_pull_queue:ratio1h{node=~"$node"}`, "{{node}}"}}, "node"},
		{stack, "Pods starting, by phase", "none", 12, "", []query{
			{`sum by (phase) (podlapse_pods_starting{node=~"$node"})`, "{{phase}}"}}, ""},
		{graph, "Longest time of a pod in its current phase", "s", 12, "PodlapsePodsStuckInPhase uses this.", []query{
			{`max by (phase) (podlapse_pods_starting_oldest_age_seconds{node=~"$node"})`, "{{phase}}"}}, ""},
	}},
	{"Registry $registry", []panel{
		{graph, "Registry factor", "short", 8,
			"Relative to other registries on the same nodes, over an hour. PodlapseRegistrySlow: more than 3.", []query{
				{`registry:podlapse_registry_factor:ratio1h{registry=~"$registry"}`, "{{registry}}"}}, "registry"},
		{graph, "Registry factor on each node", "short", 8, "High on a single node: its path to the registry is slow.",
			[]query{
				{`node_registry:podlapse_registry_factor:ratio1h{registry=~"$registry", node=~"$node"}`,
					"{{registry}} on {{node}}"}}, "node"},
		{graph, "Bytes per second by node", "binBps", 8,
			"Low on one node for all registries: its network or disk is slow.", []query{
				{`node_registry:podlapse_image_pull_bytes:increase1h{registry=~"$registry", node=~"$node"} / ` +
					`(node_registry:podlapse_image_pull_seconds:increase1h{registry=~"$registry", node=~"$node"} > 0)`,
					"{{registry}} on {{node}}"}}, "node"},
		{graph, "Duration of pulls with content", "s", 8, "Excluding the wait in the queue.", []query{
			{`histogram_quantile(0.5, sum by (registry, le) (` +
				`increase(podlapse_image_pull_duration_seconds_bucket` +
				`{registry=~"$registry", node=~"$node", outcome="downloaded"}[1h])))`, "{{registry}} p50"},
			{`histogram_quantile(0.99, sum by (registry, le) (` +
				`increase(podlapse_image_pull_duration_seconds_bucket` +
				`{registry=~"$registry", node=~"$node", outcome="downloaded"}[1h])))`, "{{registry}} p99"}},
			"registry"},
		{graph, "Wait in the queue", "s", 8, "", []query{
			{`histogram_quantile(0.99, sum by (registry, le) (` +
				`increase(podlapse_image_pull_queue_seconds_bucket{registry=~"$registry", node=~"$node"}[1h])))`,
				"{{registry}} p99"}}, "registry"},
		{stack, "Pulls by outcome", "none", 8, "Per 15 minutes.", []query{
			{`sum by (outcome) (increase(podlapse_image_pull_duration_seconds_count` +
				`{registry=~"$registry", node=~"$node"}[15m]))`, "{{outcome}}"}}, ""},
		{stack, "Failing pulls, by reason", "none", 8, "For pods that are still waiting.", []query{
			{`sum by (registry, reason) (podlapse_image_pulls_failing{registry=~"$registry", node=~"$node"})`,
				"{{registry}} {{reason}}"}}, "registry"},
		{stack, "Failed attempts, by reason", "none", 8, "Per 15 minutes, counted when the pod's start-up ends.",
			[]query{
				{`sum by (registry, reason) (increase(podlapse_image_pull_failures_total` +
					`{registry=~"$registry", node=~"$node"}[15m]))`, "{{registry}} {{reason}}"}}, "registry"},
		{graph, "Pulls in progress", "none", 8, "", []query{
			{`sum by (registry) (podlapse_image_pulls_active{registry=~"$registry", node=~"$node"})`,
				"{{registry}} receiving"},
			{`sum by (registry) (podlapse_image_pulls_queued{registry=~"$registry", node=~"$node"})`,
				"{{registry}} waiting"}}, "registry"},
		{graph, "Bytes received by pulls in progress", "bytes", 8, "", []query{
			{`sum by (registry) (podlapse_image_pulls_active_bytes{registry=~"$registry", node=~"$node"})`,
				"{{registry}}"}}, "registry"},
		{graph, "Age of the oldest pull in progress", "s", 8, "", []query{
			{`max by (registry) (podlapse_image_pulls_oldest_age_seconds{registry=~"$registry", node=~"$node"})`,
				"{{registry}}"}}, "registry"},
		{graph, "Bytes per second by node, all pulls", "binBps", 8, "While at least one pull received content from " +
			"any registry: concurrent pulls share the node's link.", []query{
			{`sum by (node) (increase(podlapse_image_pull_bytes_total{node=~"$node"}[1h])) / ` +
				`(sum by (node) (increase(podlapse_image_pull_busy_seconds_total{node=~"$node"}[1h])) > 0)`,
				"{{node}}"}}, "node"},
	}},
	{"Pods of $namespace on $node", []panel{
		{table, "Start-up of existing pods", "s", 16, "Requires agents with `--metrics-pod-labels=on`.", []query{
			{`topk(100, sum by (namespace, pod, workload_kind, workload, state, node) ` +
				`(podlapse_pod_startup_seconds{namespace=~"$namespace", node=~"$node"}))`,
				"start-up"}}, "namespace"},
		{text, "Where the time of one pod went", "", 8, "Phases of one pod, with sources and errors:\n\n" +
			"```\nkubectl -n podlapse exec AGENT_POD -- /podlapse-agent explain NAMESPACE/POD\n```\n\n" +
			"AGENT_POD is the agent on the pod's node. As JSON: `/api/v1/pods/NAMESPACE/POD` of that agent; pulls in " +
			"progress: `/api/v1/pulls`.",
			nil, ""},
	}},
	{"Evidence and agents", []panel{
		{graph, "Start-ups that lack evidence", "percentunit", 8, "", []query{
			{`node:podlapse_evidence_incomplete:ratio1h{node=~"$node"}`, "{{node}}"}}, "node"},
		{graph, "Lost Events per start-up", "short", 8, "", []query{
			{`node:podlapse_events_lost:ratio1h{node=~"$node"}`, "{{node}}"}}, "node"},
		{graph, "Contradictions", "none", 8, "Per hour, by the instant that the sources disagree about.", []query{
			{`sum by (milestone) (increase(podlapse_evidence_conflicts_total{node=~"$node"}[1h]))`, "{{milestone}}"}},
			""},
		{graph, "Sources that are down", "none", 8, "", []query{
			{`count by (source) (podlapse_source_up{node=~"$node"} == 0)`, "{{source}}"}}, ""},
		{graph, "Control plane's clock ahead of the node's", "s", 8, "At least and at most.", []query{
			{`max by (node) (podlapse_clock_skew_seconds{node=~"$node", bound="most"})`, "{{node}} at most"},
			{`min by (node) (podlapse_clock_skew_seconds{node=~"$node", bound="least"})`, "{{node}} at least"}},
			"node"},
		{graph, "Dropped by sinks", "none", 8, "Per hour.", []query{
			{`sum by (sink) (increase(podlapse_sink_dropped_total{node=~"$node"}[1h]))`, "{{sink}}"}}, ""},
		{graph, "CPU of the agent", "none", 8, "Cores.", []query{
			{`max by (node) (rate(process_cpu_seconds_total{node=~"$node"}[5m]) ` +
				`and on (job, instance) podlapse_build_info)`, "{{node}}"}}, "node"},
		{graph, "Memory of the agent", "bytes", 8, "", []query{
			{`max by (node) (process_resident_memory_bytes{node=~"$node"} and on (job, instance) podlapse_build_info)`,
				"{{node}}"}}, "node"},
		{graph, "Requests of all agents to the API server", "reqps", 8, "", []query{
			{`sum by (resource, verb) (rate(podlapse_apiserver_requests_total{node=~"$node"}[5m]))`,
				"{{verb}} {{resource}}"}}, ""},
	}},
}
