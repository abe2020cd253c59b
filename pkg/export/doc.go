// Package export is what leaves the agent about pods: the JSON records, our own and those of
// kube-transition-metrics, the Prometheus metrics and the waterfall for people. It owns the words and
// units of the outside: everything inside counts in time.Time and time.Duration; seconds and label
// values are made here.
//
// Package reconcile hands over each settled timeline, on its one goroutine, to Metrics.Observe and
// JSONLines.Offer, neither of which blocks. Package web and the explain command use Record and
// Waterfall from any goroutine; both are pure.
package export
