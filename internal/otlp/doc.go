// Package otlp sends data to an OpenTelemetry collector: a trace of each settled start-up, and the
// metrics of /metrics. It uses the official SDK and its exporters, and is configured by the
// standard OTEL_* variables. Without an endpoint, cmd/agent creates none of its types.
//
// Package reconcile passes each settled timeline, on its one goroutine, to Traces.Offer, which does
// not block. The goroutine of Traces.Run builds and sends the traces. Metrics.Run runs on a
// goroutine of its own. Neither sets globals of package otel: the creator of a provider or exporter owns it.
//
// A trace, including its IDs, is computed only from the timeline, so that a start-up that is
// reported again by a restarted agent has the same trace.
package otlp
