// Package tally keeps sums of the start-ups of the past day. The sums cover the node, each workload, each image and
// each registry. The command "report" compares the sums of all nodes.
//
// A Tally has one value of type Sums for each hour. Both the number of entries and their total size are limited. If a
// limit is reached, the Tally counts further workloads, images and registries in "other" entries. So the totals stay
// complete. The goroutine of package reconcile adds start-ups to the Tally. The API reads the Tally from any goroutine.
// Run saves the sums, so that they survive a restart.
//
// Package tally uses package factor to add up pulls and phases. So the report, the node factor and the registry factor
// count the same pulls and the same phases.
package tally
