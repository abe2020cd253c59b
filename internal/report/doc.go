// Package report finds the nodes, registries, images and workloads that cost a fleet the most start-up time. Each agent
// keeps sums of the start-ups on its node (package tally). The command "report" adds up the sums of all agents and
// prints the result as text, JSON or HTML.
//
// Lost time is the observed time minus the expected time. The expected time is the time that the other nodes,
// registries, images or workloads need for the same work. A factor is the observed time divided by the expected time.
// Package factor computes the factors of nodes and registries. For an image, "the same work" means the same number of
// pulls. For a workload or a cause, "the same work" means the same number of start-ups.
//
// Prometheus can also compare the nodes, registries and workloads (package fleetmetrics). FromMetrics converts the sums
// from Prometheus into the same kind of report.
//
// The package does no I/O and reads no clock. The types of the package are not safe for concurrent use. The names in a
// Report come from agents or from Prometheus, so the caller must clean the names before it prints them.
package report
