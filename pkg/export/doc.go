// Package export has the Prometheus metrics of start-ups. It owns their names, units and labels: other
// packages use time.Time and time.Duration, and this package converts them to seconds and label values.
//
// Package reconcile passes each settled timeline, on its one goroutine, to Metrics.Observe, which does
// not block. The other collectors read at each scrape.
package export
