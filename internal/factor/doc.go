// Package factor adds up the start-ups of a node, and computes the node factors and the registry factors of a fleet
// from the totals of all nodes. It uses the same rules as manifests/monitoring/rules.yaml for a cluster without
// node pools, which docs/monitoring.md explains. The package is pure: the caller passes the records and the time
// window. The agent's API and the command line call the package. A value of this package must not be used on two
// goroutines at the same time.
package factor
