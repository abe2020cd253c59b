// Package otlp sends what the agent found to an OpenTelemetry collector: a trace of each settled start-up, and the
// metrics that /metrics shows. It works with the official SDK and its exporters, is set by the standard OTEL_*
// variables, and is nothing without an endpoint: cmd/agent then makes none of its types.
//
// Package reconcile hands over each settled timeline, on its one goroutine, to Traces.Offer, which does not block; the
// goroutine of Traces.Run builds and sends. Metrics.Run is a goroutine of its own. Neither sets anything of package
// otel that the process shares: providers and exporters belong to who made them.
//
// A trace is computed from the timeline alone, its IDs included, so that a start-up which is reported again, by the
// agent after a restart, is the same trace.
package otlp
