// Package workload summarizes the start-ups of one workload: their number, their durations, the mean time of each
// cause, and the differences between nodes and between revisions. A difference counts only if it is more than noise and
// more than the error bounds of the durations. All functions are pure, are safe to call on any goroutine, and return
// the same result for any order of the records. The command "explain" calls this package.
package workload
