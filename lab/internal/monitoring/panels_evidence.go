package monitoring

// registryPanels are the panels about the selected registries.
var registryPanels = []panel{
	{graph, "Registry factor", "none", 8, "Pull time relative to other registries on the same nodes, in the past " +
		"hour. Includes only pulls whose downloaded bytes are completely known. PodlapseRegistrySlow requires more " +
		"than 3.", []query{
		{expr: worst(`registry:podlapse_registry_factor:ratio1h{registry=~"$registry"}`, "cluster, registry"),
			name: "{{registry}}"}}, "registry"},
	{graph, "Registry factor on each node", "none", 8,
		"If only one node has a high factor, the path from this node to the registry is slow." + ofTheWorst, []query{
			{expr: worst(`node_registry:podlapse_registry_factor:ratio1h{registry=~"$registry", node=~"$node"}`,
				"cluster, node, registry"), name: "{{registry}} on {{node}}"}}, "node"},
	{graph, "Slowest pull rates by node and registry", "binBps", 8,
		"Data of the past hour. If a node is slow for all registries, its network or disk is slow. Includes only " +
			"pulls whose downloaded bytes are completely known.", []query{
			{expr: `bottomk($top, ` +
				`node_registry:podlapse_image_pull_sized_bytes:increase1h{registry=~"$registry", node=~"$node"} / ` +
				`(node_registry:podlapse_image_pull_sized_seconds:increase1h{registry=~"$registry", ` +
				`node=~"$node"} > 0))`,
				name: "{{registry}} on {{node}}"}}, "node"},
	{graph, "Duration of pulls with content", "s", 8,
		"Data of the past hour, excluding the wait in the pull queue.", []query{
			{expr: `topk($top, histogram_quantile(0.5, sum by (registry, le) (` +
				`increase(podlapse_image_pull_duration_seconds_bucket` +
				`{registry=~"$registry", node=~"$node", outcome="downloaded"}[1h]))))`, name: "{{registry}} p50"},
			{expr: `topk($top, histogram_quantile(0.99, sum by (registry, le) (` +
				`increase(podlapse_image_pull_duration_seconds_bucket` +
				`{registry=~"$registry", node=~"$node", outcome="downloaded"}[1h]))))`, name: "{{registry}} p99"}},
		"registry"},
	{graph, "Wait in the pull queue, p99", "s", 8, "Data of the past hour.", []query{
		{expr: `topk($top, histogram_quantile(0.99, sum by (registry, le) (` +
			`increase(podlapse_image_pull_queue_seconds_bucket{registry=~"$registry", node=~"$node"}[1h]))))`,
			name: "{{registry}}"}}, "registry"},
	{stack, "Pulls by outcome", "none", 8, "Number in 15 minutes.", []query{
		{expr: `sum by (outcome) (increase(podlapse_image_pull_duration_seconds_count` +
			`{registry=~"$registry", node=~"$node"}[15m]))`, name: "{{outcome}}"}}, ""},
	{stack, "Pulls that fail now, by reason", "none", 8, "Only pulls of pods that are still waiting.", []query{
		{expr: `topk($top, sum by (registry, reason) ` +
			`(podlapse_image_pulls_failing{registry=~"$registry", node=~"$node"}))`,
			name: "{{registry}} {{reason}}"}}, "registry"},
	{stack, "Failed pull attempts, by reason", "none", 8,
		"Number in 15 minutes. The panel counts an attempt when the pod's start-up is over.", []query{
			{expr: `topk($top, sum by (registry, reason) (increase(podlapse_image_pull_failures_total` +
				`{registry=~"$registry", node=~"$node"}[15m])))`, name: "{{registry}} {{reason}}"}}, "registry"},
	{graph, "Pulls in progress", "none", 8, "", []query{
		{expr: `topk($top, sum by (registry) (podlapse_image_pulls_active{registry=~"$registry", node=~"$node"}))`,
			name: "{{registry}} receiving"},
		{expr: `topk($top, sum by (registry) (podlapse_image_pulls_queued{registry=~"$registry", node=~"$node"}))`,
			name: "{{registry}} waiting"}}, "registry"},
	{graph, "Bytes received by pulls in progress", "bytes", 8, "", []query{
		{
			expr: `topk($top, sum by (registry) (podlapse_image_pulls_active_bytes{registry=~"$registry", ` +
				`node=~"$node"}))`,
			name: "{{registry}}",
		}}, "registry"},
	{graph, "Age of the oldest pull in progress", "s", 8, "", []query{
		{expr: `topk($top, max by (registry) ` +
			`(podlapse_image_pulls_oldest_age_seconds{registry=~"$registry", node=~"$node"}))`, name: "{{registry}}"}},
		"registry"},
	{graph, "Slowest pull rates by node, all registries", "binBps", 8,
		"Rate in the past hour, while at least one pull received content. Concurrent pulls share the node's link.",
		[]query{
			{expr: `bottomk($top, sum by (cluster, node) ` +
				`(increase(podlapse_image_pull_bytes_total{node=~"$node"}[1h])) / ` +
				`(sum by (cluster, node) (increase(podlapse_image_pull_busy_seconds_total{node=~"$node"}[1h])) > 0))`,
				name: "{{node}}"}}, "node"},
}

// evidencePanels are the panels about missing evidence and about the resources that the agents use.
var evidencePanels = []panel{
	{graph, "Start-ups that lack evidence", "percentunit", 8, "Data of the past hour." + ofTheWorst, []query{
		{expr: worst(`node:podlapse_evidence_incomplete:ratio1h{node=~"$node"}`, "cluster, node"), name: "{{node}}"}},
		"node"},
	{graph, "Milestones that the runtime cannot report, per start-up", "none", 8,
		"Data of the past hour. CRI-O cannot report when the network was ready, and containerd 1.x cannot report " +
			"when a sandbox was running. This is not missing evidence, but the node has no node factor.", []query{
			{expr: worst(`node:podlapse_evidence_unreported:ratio1h{node=~"$node"}`, "cluster, node"),
				name: "{{node}}"}}, "node"},
	{graph, "Lost Events per start-up", "none", 8, "Data of the past hour." + ofTheWorst, []query{
		{expr: worst(`node:podlapse_events_lost:ratio1h{node=~"$node"}`, "cluster, node"), name: "{{node}}"}}, "node"},
	{graph, "Contradictions between sources, highest", "none", 8, "Data of the past hour.", []query{
		{expr: `topk($top, sum by (cluster, node) (increase(podlapse_evidence_conflicts_total{node=~"$node"}[1h])))`,
			name: "{{node}}"}}, "node"},
	{graph, "Sources that are down", "none", 8, "Number of nodes, by source.", []query{
		{expr: `count by (source) (podlapse_source_up{node=~"$node"} == 0)`, name: "{{source}}"}}, ""},
	{graph, "Clock skew that is certain", "s", 8,
		"Minimum difference between the node's clock and the control plane's clock." + ofTheWorst, []query{
			{expr: worst(`node:podlapse_clock_skew_seconds:certain{node=~"$node"}`, "cluster, node"),
				name: "{{node}}"}},
		"node"},
	{graph, "Items dropped by sinks", "none", 8, "Data of the past hour.", []query{
		{expr: `sum by (sink) (increase(podlapse_sink_dropped_total{node=~"$node"}[1h]))`, name: "{{sink}}"}}, ""},
	{graph, "CPU of the agents, highest", "none", 8, "Number of CPU cores.", []query{
		{expr: `topk($top, max by (cluster, node) (rate(process_cpu_seconds_total{node=~"$node"}[5m]) ` +
			`and on (cluster, job, instance) podlapse_build_info))`, name: "{{node}}"}}, "node"},
	{graph, "Memory of the agents, highest", "bytes", 8, "", []query{
		{expr: `topk($top, max by (cluster, node) (process_resident_memory_bytes{node=~"$node"} ` +
			`and on (cluster, job, instance) podlapse_build_info))`, name: "{{node}}"}}, "node"},
	{graph, "Requests of all agents to the API server", "reqps", 24, "", []query{
		{expr: `sum by (resource, verb) (rate(podlapse_apiserver_requests_total{node=~"$node"}[5m]))`,
			name: "{{verb}} {{resource}}"}}, ""},
}
