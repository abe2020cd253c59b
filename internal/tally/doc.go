// Package tally keeps sums of the start-ups of the past day: for the node, and for each workload, image and registry.
// The command "report" compares the sums of all nodes.
//
// A Tally has one Sums for each hour. Both the number of entries and their total size are limited. Sums beyond the
// limits go to the "other" entry for workloads, images or registries, so that the totals stay complete. The goroutine
// of package reconcile adds start-ups to the Tally. The API reads the Tally from any goroutine. Run saves the sums, so
// that they survive a restart.
//
// Package tally adds up pulls and phases with package factor, so the report, the node factor and the registry factor
// count the same pulls and the same phases.
package tally
