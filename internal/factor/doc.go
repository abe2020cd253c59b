// Package factor adds up the start-ups of a node. From the totals of all nodes, the package computes the node factors
// and registry factors of a fleet. A factor is the observed time divided by the expected time. For clusters without
// node pools, the recording rules in manifests/monitoring/rules.yaml compute the factors in the same way as this
// package. docs/monitoring.md explains the rules for the factors.
//
// The package does no I/O and reads no clock: the caller passes the records and the time window. The agent's API and
// the command line call the package. The types of this package are not safe for concurrent use.
package factor
