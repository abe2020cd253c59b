// Package fleetmetrics queries a Prometheus server for the numbers in the report about the fleet (all nodes with an
// agent). The queries use the project's recording rules (manifests/monitoring/rules.yaml). Prometheus itself compares
// the nodes, registries and workloads. So a response contains at most a few numbers for each node, registry or
// workload.
//
// The command "report" calls the package on its own goroutine, and limits the total time. A Server sends several
// queries at once. A Server limits the size and the number of series of each response. Errors name a remedy, and never
// contain credentials.
package fleetmetrics
