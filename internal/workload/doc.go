// Package workload summarizes the start-ups of one workload. A summary contains the number of start-ups, their
// durations, the mean time of each cause, and the differences between nodes and between revisions. A difference counts
// only if it is statistically significant and if the error bounds of the durations cannot explain it. All functions are
// pure, are safe to call on any goroutine, and return the same result for any order of the records. The command
// "explain" and the read API call this package.
package workload
