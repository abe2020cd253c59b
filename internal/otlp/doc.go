// Package otlp sends traces and metrics to an OpenTelemetry collector. The traces are one trace of each settled
// start-up of a pod, and one trace of the node's own start-up. The metrics are those that the agent also serves at
// /metrics. A start-up is settled if it is over and the agent expects no more evidence about it. The package uses the
// official SDK and exporters, and reads the standard OTEL_* variables. If no endpoint is configured, cmd/agent creates
// nothing from this package.
//
// Package reconcile calls Traces.Offer for each settled timeline. Offer runs on the caller's goroutine and does not
// block. Traces.Run builds and sends the traces on its own goroutine. Metrics.Run has its own goroutine. The package
// sets no global variables of package otel. Traces and Metrics own their exporters.
//
// A trace and its IDs depend only on the timeline, or on the record of the node's start-up. If a restarted agent
// reports a pod's start-up again, it sends the same trace with the same IDs. If a restarted agent reports the node's
// start-up again, the trace has the same ID. The phases in the node's trace can differ, because the restarted agent no
// longer knows all facts.
package otlp
