// Package factor adds up the start-ups of a node. From the totals of all nodes, the package computes the node factors
// and registry factors of a fleet. The rules are the same as in manifests/monitoring/rules.yaml for a cluster without
// node pools. docs/monitoring.md explains the rules for the factors.
//
// The package is pure: the caller passes the records and the time window. The agent's API and the command line call
// the package. The types of this package are not safe for concurrent use.
package factor
