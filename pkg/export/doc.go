// Package export holds everything about pods that leaves the agent: the JSON records, both
// podlapse's own and those of kube-transition-metrics, the Prometheus metrics, and the waterfall
// for people. It owns the external names and units: other packages use time.Time and time.Duration,
// and this package converts them to seconds and label values.
//
// Package reconcile passes each settled timeline, on its one goroutine, to Metrics.Observe and
// JSONLines.Offer; neither blocks. Package web and the explain command use Record and Waterfall
// from any goroutine; both are pure.
package export
