// Package otlp sends data to an OpenTelemetry collector: a trace of each settled start-up, and the metrics of
// /metrics. The package uses the official SDK and exporters, and reads the standard OTEL_* variables. Without an
// endpoint, cmd/agent creates no part of this package.
//
// Package reconcile passes each settled timeline to Traces.Offer, which does not block, from reconcile's goroutine.
// Traces.Run builds and sends the traces on its own goroutine. Metrics.Run also has its own goroutine. The package
// sets no global variables of package otel: the creator of a provider or exporter owns it.
//
// A trace and its IDs depend only on the timeline. So if a restarted agent reports a start-up again, the trace is
// the same.
package otlp
