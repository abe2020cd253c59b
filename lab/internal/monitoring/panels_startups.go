package monitoring

// The titles of two rows that need optional flags of the agent. If no agent has the flag for a row, the row is empty.
const (
	NodeStartUpRow = "Node start-up"
	WorkloadsRow   = "Workloads in $namespace, totals"
)

const (
	needsNodeStartUp = "Requires agents with `--node-startup`."
	needsWorkloads   = "Data of the past hour. Requires agents with `--metrics-workloads`."

	slowStartUps = `topk($top, max by (cluster, node) (podlapse_node_startup_seconds{node=~"$node"}))`

	workloadStartUps = `namespace_workload:podlapse_workload_startups:increase1h{namespace=~"$namespace"}`
	// A workload without failures has no series of this metric. For such a workload, the expression returns 0.
	workloadFailures = `(namespace_workload:podlapse_workload_startup_failures:increase1h{namespace=~"$namespace"}` +
		` or 0 * ` + workloadStartUps + `)`
	workloadSeconds = `namespace_workload_cause:podlapse_workload_startup_seconds:increase1h` +
		`{namespace=~"$namespace"}`
	workloadTime  = `sum by (` + workload + `) (` + workloadSeconds + `)`
	workloadMean  = workloadTime + ` / on (` + workload + `) (` + workloadStartUps + ` > 0)`
	longWorkloads = `topk($top, ` + workloadTime + `)`
)

// nodeStartUpPanels are the panels about the start-up of the nodes themselves, from the boot until the first workload
// pod is ready.
var nodeStartUpPanels = []panel{
	{number, "Nodes with a known start-up", "none", 6, needsNodeStartUp, []query{
		{expr: `count(podlapse_node_startup_seconds{node=~"$node"})`}}, ""},
	{number, "Mean node start-up", "s", 6,
		"From the latest boot of the machine until the first workload pod was ready.", []query{
			{expr: `avg(podlapse_node_startup_seconds{node=~"$node"})`}}, ""},
	{number, "Slowest node start-up", "s", 6, "", []query{
		{expr: `max(podlapse_node_startup_seconds{node=~"$node"})`}}, ""},
	{number, "Reconstructed node start-ups", "none", 6,
		"The agent started after the node's start-up was over, so the phases are less precise.", []query{
			{expr: `sum(podlapse_node_startup_reconstructed{node=~"$node"})`}}, ""},
	{stack, "Mean node start-up by phase", "s", 12, "Latest start-up of each node. " + needsNodeStartUp, []query{
		{expr: `avg by (phase) (podlapse_node_startup_phase_seconds{node=~"$node"}) > 0`, name: "{{phase}}"}}, ""},
	{graph, "Longest time of a node in each phase", "s", 12, "Latest start-up of each node.", []query{
		{expr: `max by (phase) (podlapse_node_startup_phase_seconds{node=~"$node"}) > 0`, name: "{{phase}}"}}, ""},
	{table, "Slowest start-ups of nodes", "", 12, needsNodeStartUp, []query{
		{slowStartUps, "start-up", "s"},
		{rowsOf(`max by (cluster, node) (podlapse_node_startup_phase_seconds{node=~"$node"})`, "cluster, node",
			slowStartUps), "longest phase", "s"},
		{rowsOf(`max by (cluster, node) (podlapse_node_startup_reconstructed{node=~"$node"})`, "cluster, node",
			slowStartUps), "reconstructed", "none"}}, "node"},
	{table, "Longest phases of node start-ups", "", 12, needsNodeStartUp, []query{
		{`topk($top, max by (cluster, node, phase) (podlapse_node_startup_phase_seconds{node=~"$node"}))`, "time",
			"s"}}, "node"},
}

// workloadPanels are the panels about the start-ups of each workload, including the start-ups of deleted pods.
var workloadPanels = []panel{
	{graph, "Start-ups by workload", "none", 8, needsWorkloads + ofTheWorst, []query{
		{expr: worst(workloadStartUps, workload), name: "{{namespace}}/{{workload}} {{cluster}}"}}, "namespace"},
	{graph, "Mean start-up duration by workload", "s", 8, needsWorkloads + ofTheWorst, []query{
		{expr: `topk($top, ` + workloadMean + `)`, name: "{{namespace}}/{{workload}} {{cluster}}"}}, "namespace"},
	{stack, "Seconds of start-ups by cause", "s", 8, needsWorkloads, []query{
		{expr: `sum by (cause) (` + workloadSeconds + `) > 0`, name: "{{cause}}"}}, ""},
	{table, "Workloads with the most start-up time", "", 24, needsWorkloads, []query{
		{longWorkloads, "total time", "s"},
		{rowsOf(workloadMean, workload, longWorkloads), "mean start-up", "s"},
		{rowsOf(workloadStartUps, workload, longWorkloads), "start-ups", "none"},
		{rowsOf(workloadFailures, workload, longWorkloads), "failures", "none"}}, "namespace"},
}
