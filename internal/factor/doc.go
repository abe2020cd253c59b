// Package factor computes the node factors and the registry factors of a fleet from the records of its agents. It
// uses the same rules as manifests/monitoring/rules.yaml, which docs/monitoring.md explains. The package is pure:
// the caller passes the records and the time. The command line calls the package on one goroutine at a time.
package factor
