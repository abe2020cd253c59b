// Package export provides the Prometheus metrics of start-ups. The package owns the names, units and labels of its
// metrics. Other packages use time.Time and time.Duration, and this package converts these types to seconds.
//
// A timeline is settled if the start-up is over and the agent expects no more evidence about it. The only goroutine of
// package reconcile passes each settled timeline to Metrics.Observe. Metrics.Observe does not block. Unlike Metrics,
// the collectors of this package read their data at each scrape.
package export
