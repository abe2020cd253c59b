package monitoring

// sections are all that the dashboard shows, from the fleet to the pod.
var sections = []section{
	{"Fleet", []panel{
		{number, "Start-ups in 15 min", "none", 4, "Pods that became ready or succeeded.", []query{
			{`sum(node:podlapse_pod_startup_duration_seconds_count:increase15m)`, ""}}, ""},
		{number, "Within 5 s, by Kubernetes' indicator", "percentunit", 5, "Pulls and init containers left out; Kubernetes' objective is 99 %. Of the past hour.", []query{
			{`fleet:podlapse_pod_startup_sli_within_5s:ratio1h`, ""}}, ""},
		{number, "Pods that start now", "none", 4, "", []query{{`sum(podlapse_pods_starting)`, ""}}, ""},
		{number, "Nodes with an agent", "none", 4, "", []query{{`count(count by (node) (podlapse_build_info))`, ""}}, ""},
		{number, "Alerts", "none", 7, "That fire now.", []query{
			{`sum by (alertname) (ALERTS{alertname=~"Podlapse.*", alertstate="firing"})`, "{{alertname}}"}}, ""},
		{graph, "Start-up", "s", 12, "From creation until ready, of a quarter of an hour.", []query{
			{`fleet:podlapse_pod_startup_duration_seconds:quantile15m`, "{{quantile}}"},
			{`fleet:podlapse_pod_startup_sli_duration_seconds:quantile15m`, "{{quantile}} of the indicator"}}, ""},
		{graph, "Start-ups that ended", "none", 12, "Per quarter of an hour, by how.", []query{
			{`sum by (state) (increase(podlapse_pod_startups_total[15m]))`, "{{state}}"}}, ""},
		{stack, "The mean start-up by phase", "s", 12, "", []query{{`phase:podlapse_pod_phase_duration_seconds:mean15m > 0`, "{{phase}}"}}, ""},
		{stack, "The mean start-up by cause", "s", 12, "", []query{{`cause:podlapse_pod_phase_duration_seconds:mean15m > 0`, "{{cause}}"}}, ""},
		{table, "Slowest nodes", "short", 12, "Factor: as many times as slow as the other nodes for the same work; pulls are not counted. Times in seconds.", []query{
			{`node:podlapse_node_factor:ratio1h`, "factor"},
			{`node:podlapse_node_lost_seconds:mean1h`, "lost per start-up"},
			{`node:podlapse_pull_queue:ratio1h`, "queue share"},
			{`sum by (node) (node:podlapse_pod_startup_duration_seconds:quantile1h{quantile="0.5"})`, "p50"},
			{`sum by (node) (node:podlapse_pod_startup_duration_seconds:quantile1h{quantile="0.99"})`, "p99"}}, "node"},
		{table, "Registries", "short", 12, "Factor: as many times as slow as other registries on the same nodes, or as itself the day before where there is no other.", []query{
			{`registry:podlapse_registry_factor:ratio1h`, "factor"},
			{`registry:podlapse_registry_lost_seconds:mean1h`, "s lost per pull"},
			{`registry:podlapse_registry_slow_nodes:ratio1h`, "share of nodes"},
			{`registry:podlapse_image_pull_bytes_per_second:mean1h / 1024 / 1024`, "MiB/s"},
			{`registry:podlapse_image_pulls:increase1h`, "pulls"}}, "registry"},
	}},
	{"Node $node", []panel{
		{graph, "Node factor", "short", 8, "This node against the others for the same work, of an hour. PodlapseNodeSlow: more than 2, and a second lost.", []query{
			{`node:podlapse_node_factor:ratio1h{node=~"$node"}`, "{{node}}"}}, "node"},
		{stack, "Lost against the other nodes, by work", "s", 8, "In an hour; below zero what it was quicker.", []query{
			{`sum by (work) (node_work:podlapse_node_lost_seconds:increase1h{node=~"$node"})`, "{{work}}"}}, ""},
		{graph, "Start-up, p99 of an hour", "s", 8, "", []query{
			{`node:podlapse_pod_startup_duration_seconds:quantile1h{node=~"$node", quantile="0.99"}`, "{{node}}"}}, "node"},
		{stack, "The mean start-up by phase", "s", 8, "", []query{
			{`sum by (phase) (node_phase:podlapse_pod_phase_duration_seconds_sum:increase15m{node=~"$node"}) / on () group_left () sum(node:podlapse_pod_startup_duration_seconds_count:increase15m{node=~"$node"}) > 0`, "{{phase}}"}}, ""},
		{stack, "The mean start-up by cause", "s", 8, "", []query{
			{`sum by (cause) (node_cause:podlapse_pod_phase_duration_seconds_sum:increase15m{node=~"$node"}) / on () group_left () sum(node:podlapse_pod_startup_duration_seconds_count:increase15m{node=~"$node"}) > 0`, "{{cause}}"}}, ""},
		{graph, "Share of start-up time in the pull queue", "percentunit", 8, "PodlapseNodePullQueueBound: more than 30 %, and five seconds.", []query{
			{`node:podlapse_pull_queue:ratio1h{node=~"$node"}`, "{{node}}"}}, "node"},
		{stack, "Pods that start now, by phase", "none", 12, "", []query{
			{`sum by (phase) (podlapse_pods_starting{node=~"$node"})`, "{{phase}}"}}, ""},
		{graph, "The longest that a pod has been in its phase", "s", 12, "PodlapsePodsStuckInPhase looks at this.", []query{
			{`max by (phase) (podlapse_pods_starting_oldest_age_seconds{node=~"$node"})`, "{{phase}}"}}, ""},
	}},
	{"Registry $registry", []panel{
		{graph, "Registry factor", "short", 8, "Against other registries on the same nodes, of an hour. PodlapseRegistrySlow: more than 3.", []query{
			{`registry:podlapse_registry_factor:ratio1h{registry=~"$registry"}`, "{{registry}}"}}, "registry"},
		{graph, "Registry factor on each node", "short", 8, "High on one node alone: its way to the registry.", []query{
			{`node_registry:podlapse_registry_factor:ratio1h{registry=~"$registry", node=~"$node"}`, "{{registry}} on {{node}}"}}, "node"},
		{graph, "Bytes a second, node by node", "binBps", 8, "Low on one node for all registries: its network or disk.", []query{
			{`node_registry:podlapse_image_pull_bytes:increase1h{registry=~"$registry", node=~"$node"} / (node_registry:podlapse_image_pull_seconds:increase1h{registry=~"$registry", node=~"$node"} > 0)`, "{{registry}} on {{node}}"}}, "node"},
		{graph, "Pulls that brought content", "s", 8, "Without the wait in the queue.", []query{
			{`histogram_quantile(0.5, sum by (registry, le) (increase(podlapse_image_pull_duration_seconds_bucket{registry=~"$registry", node=~"$node", outcome="downloaded"}[1h])))`, "{{registry}} p50"},
			{`histogram_quantile(0.99, sum by (registry, le) (increase(podlapse_image_pull_duration_seconds_bucket{registry=~"$registry", node=~"$node", outcome="downloaded"}[1h])))`, "{{registry}} p99"}}, "registry"},
		{graph, "Wait in the queue", "s", 8, "", []query{
			{`histogram_quantile(0.99, sum by (registry, le) (increase(podlapse_image_pull_queue_seconds_bucket{registry=~"$registry", node=~"$node"}[1h])))`, "{{registry}} p99"}}, "registry"},
		{stack, "Pulls by outcome", "none", 8, "Per quarter of an hour.", []query{
			{`sum by (outcome) (increase(podlapse_image_pull_duration_seconds_count{registry=~"$registry", node=~"$node"}[15m]))`, "{{outcome}}"}}, ""},
		{stack, "Pulls that fail now, by reason", "none", 8, "Of pods that still wait.", []query{
			{`sum by (registry, reason) (podlapse_image_pulls_failing{registry=~"$registry", node=~"$node"})`, "{{registry}} {{reason}}"}}, "registry"},
		{stack, "Failed attempts, by reason", "none", 8, "Per quarter of an hour, counted when the pod's start-up is over.", []query{
			{`sum by (registry, reason) (increase(podlapse_image_pull_failures_total{registry=~"$registry", node=~"$node"}[15m]))`, "{{registry}} {{reason}}"}}, "registry"},
		{graph, "Pulls that go on now", "none", 8, "", []query{
			{`sum by (registry) (podlapse_image_pulls_active{registry=~"$registry", node=~"$node"})`, "{{registry}} coming"},
			{`sum by (registry) (podlapse_image_pulls_queued{registry=~"$registry", node=~"$node"})`, "{{registry}} waiting"}}, "registry"},
		{graph, "Bytes that came of them", "bytes", 8, "", []query{
			{`sum by (registry) (podlapse_image_pulls_active_bytes{registry=~"$registry", node=~"$node"})`, "{{registry}}"}}, "registry"},
		{graph, "Age of the oldest of them", "s", 8, "", []query{
			{`max by (registry) (podlapse_image_pulls_oldest_age_seconds{registry=~"$registry", node=~"$node"})`, "{{registry}}"}}, "registry"},
		{graph, "Bytes a second of each node, all pulls together", "binBps", 8, "While at least one pull received content, from any registry: pulls at the same time share the node's link.", []query{
			{`sum by (node) (increase(podlapse_image_pull_bytes_total{node=~"$node"}[1h])) / (sum by (node) (increase(podlapse_image_pull_busy_seconds_total{node=~"$node"}[1h])) > 0)`, "{{node}}"}}, "node"},
	}},
	{"Pods of $namespace on $node", []panel{
		{table, "Start-up of the pods that are there", "s", 16, "Needs agents with `--metrics-pod-labels=on`.", []query{
			{`topk(100, sum by (namespace, pod, workload_kind, workload, state, node) (podlapse_pod_startup_seconds{namespace=~"$namespace", node=~"$node"}))`, "start-up"}}, "namespace"},
		{text, "Where the time of one pod went", "", 8, "Phases of one pod, with sources and errors:\n\n" +
			"```\nkubectl -n podlapse exec AGENT_POD -- /podlapse-agent explain NAMESPACE/POD\n```\n\n" +
			"AGENT_POD is the agent on the pod's node. As JSON: `/api/v1/pods/NAMESPACE/POD` of that agent; pulls that go on: `/api/v1/pulls`.",
			nil, ""},
	}},
	{"Evidence and agents", []panel{
		{graph, "Start-ups that lack evidence", "percentunit", 8, "", []query{
			{`node:podlapse_evidence_incomplete:ratio1h{node=~"$node"}`, "{{node}}"}}, "node"},
		{graph, "Lost Events per start-up", "short", 8, "", []query{
			{`node:podlapse_events_lost:ratio1h{node=~"$node"}`, "{{node}}"}}, "node"},
		{graph, "Contradictions", "none", 8, "Per hour, by the instant that sources contradict each other about.", []query{
			{`sum by (mark) (increase(podlapse_evidence_conflicts_total{node=~"$node"}[1h]))`, "{{mark}}"}}, ""},
		{graph, "Sources that do not work", "none", 8, "", []query{
			{`count by (source) (podlapse_source_up{node=~"$node"} == 0)`, "{{source}}"}}, ""},
		{graph, "Clock of the control plane ahead of the node's", "s", 8, "At least and at most.", []query{
			{`max by (node) (podlapse_clock_skew_seconds{node=~"$node", bound="most"})`, "{{node}} at most"},
			{`min by (node) (podlapse_clock_skew_seconds{node=~"$node", bound="least"})`, "{{node}} at least"}}, "node"},
		{graph, "Dropped by sinks", "none", 8, "Per hour.", []query{
			{`sum by (sink) (increase(podlapse_sink_dropped_total{node=~"$node"}[1h]))`, "{{sink}}"}}, ""},
		{graph, "CPU of the agent", "none", 8, "Cores.", []query{
			{`max by (node) (rate(process_cpu_seconds_total{node=~"$node"}[5m]) and on (job, instance) podlapse_build_info)`, "{{node}}"}}, "node"},
		{graph, "Memory of the agent", "bytes", 8, "", []query{
			{`max by (node) (process_resident_memory_bytes{node=~"$node"} and on (job, instance) podlapse_build_info)`, "{{node}}"}}, "node"},
		{graph, "Requests of all agents to the API server", "reqps", 8, "", []query{
			{`sum by (resource, verb) (rate(podlapse_apiserver_requests_total{node=~"$node"}[5m]))`, "{{verb}} {{resource}}"}}, ""},
	}},
}
