// Package fleetmetrics queries a Prometheus server for the sums that the report about the fleet needs. The queries use
// the project's recording rules (manifests/monitoring/rules.yaml). Prometheus compares the nodes, registries and
// workloads, so a response contains at most a few numbers for each of them.
//
// The command report calls the package on its own goroutine. A Server sends several queries at once, and limits the
// time, the size and the number of series of each response. Errors name a remedy, and never contain credentials.
package fleetmetrics
