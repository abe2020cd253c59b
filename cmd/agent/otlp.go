package main

import (
	"context"

	"github.com/podlapse/podlapse/internal/otlp"
	"github.com/podlapse/podlapse/pkg/export"
)

// The names of the OTLP sinks on the health board.
const (
	partTraces  = "otlp"
	partMetrics = "otlp_metrics"
)

// tracesOf returns the function that finds the trace of a start-up, or nil without an endpoint for traces.
func tracesOf(c config) export.TraceOf {
	if !c.otlp.Traces.On {
		return nil
	}
	return otlp.NewTraceOf(c.rolloutTraces)
}

// newTraces makes the sink of traces, or nil without an endpoint for them. The context is done when the agent must
// stop.
func newTraces(ctx context.Context, d deps, handed *reports) (*otlp.Traces, error) {
	c := d.config
	if !c.otlp.Traces.On {
		return nil, nil
	}
	return otlp.NewTraces(ctx, otlp.TracesConfig{
		Signal: c.otlp.Traces, Rollouts: c.rolloutTraces, Node: c.nodeName, Version: d.build.version,
		Registerer: d.registry, Report: d.board.Register(partTraces, "not started yet"),
		Logger: d.logger.Named(partTraces), Done: handed.sink(),
		Stopping: func() bool { return ctx.Err() != nil },
	})
}

// newMetricsPush makes the sink of metrics, or nil without an endpoint for them.
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
