// Package otlp sends data to an OpenTelemetry collector: a trace of each settled start-up, a trace of the node's own
// start-up, and the metrics of /metrics. The package uses the official SDK and exporters, and reads the standard OTEL_*
// variables. If no endpoint is configured, cmd/agent creates nothing from this package.
//
// Package reconcile passes each settled timeline to Traces.Offer on reconcile's goroutine. Offer does not block.
// Traces.Run builds and sends the traces on its own goroutine. Metrics.Run has its own goroutine. The package sets no
// global variables of package otel. Traces and Metrics own their exporters.
//
// A trace and its IDs depend only on the timeline, or on the record of the node's start-up. If a restarted agent
// reports a pod's start-up again, it sends the same trace with the same IDs. If a restarted agent reports the node's
// start-up again, the trace has the same ID, but its phases can differ, because the restarted agent no longer knows all
// facts.
package otlp
