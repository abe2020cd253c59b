package main

import (
	"context"

	"github.com/podlapse/podlapse/internal/otlp"
	"github.com/podlapse/podlapse/pkg/export"
)

// Names of the OTLP sinks in the agent's health status (health.Board).
const (
	partTraces  = "otlp"
	partMetrics = "otlp_metrics"
)

// readOTLP reads the OTEL_* variables.
func (c *config) readOTLP(getenv func(string) string) (err error) {
	c.otlp, err = otlp.FromEnvironment(getenv)
	return err
}

// tracesOf returns the function that computes the trace ID of a start-up. Without an endpoint for traces, tracesOf
// returns nil.
func tracesOf(c config) export.TraceOf {
	if !c.otlp.Traces.On {
		return nil
	}
	return otlp.NewTraceOf(c.rolloutTraces)
}

// newTraces returns the sink of traces. Without an endpoint for traces, newTraces returns nil, and warns about flags
// that have no effect. The caller cancels the context when the agent must stop.
func newTraces(ctx context.Context, d deps, handed *deliveries) (*otlp.Traces, error) {
	c := d.config
	if !c.otlp.Traces.On {
		if c.rolloutTraces || c.lifeTraces {
			d.logger.Named(partTraces).Warn("the agent sends no traces, so --rollout-traces and --life-traces have " +
				"no effect: set OTEL_EXPORTER_OTLP_ENDPOINT, or remove these flags")
		}
		return nil, nil
	}
	return otlp.NewTraces(ctx, otlp.TracesConfig{
		Signal: c.otlp.Traces, Rollouts: c.rolloutTraces, Node: c.nodeName, Version: d.build.version,
		Registerer: d.registry, Report: d.board.Register(partTraces, "not started yet"),
		Logger: d.logger.Named(partTraces), Done: handed.addSink(),
		Stopping: func() bool { return ctx.Err() != nil },
	})
}

// newMetricsPush returns the sink of metrics. Without an endpoint for metrics, newMetricsPush returns nil.
func newMetricsPush(ctx context.Context, d deps) (*otlp.Metrics, error) {
	c := d.config
	if !c.otlp.Metrics.On {
		return nil, nil
	}
	return otlp.NewMetrics(ctx, otlp.MetricsConfig{
		Signal: c.otlp.Metrics, Interval: c.otlp.Interval, Exponential: c.otlp.Exponential,
		Node: c.nodeName, Version: d.build.version, Gatherer: d.registry, Registerer: d.registry,
		Report: d.board.Register(partMetrics, "not started yet"), Logger: d.logger.Named(partMetrics),
	})
}
