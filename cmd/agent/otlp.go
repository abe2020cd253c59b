package main

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/export/otlp"
)

// What the health board calls the sinks of OTLP.
const (
	partTraces  = "otlp"
	partMetrics = "otlp_metrics"
)

// tracesOf names the traces that start-ups are told in, if they are.
func tracesOf(c config) export.TraceOf {
	if !c.otlp.Traces.On {
		return nil
	}
	return otlp.NewTraceOf(c.rolloutTraces)
}

// newTraces makes the sink of traces, or nil without an endpoint for them. The context is done when the agent is told to stop.
func newTraces(ctx context.Context, c config, build export.Build, handed *reports, registry prometheus.Registerer,
	board *health.Board, logger *zap.Logger) (*otlp.Traces, error) {
	if !c.otlp.Traces.On {
		return nil, nil
	}
	return otlp.NewTraces(ctx, otlp.TracesConfig{
		Signal: c.otlp.Traces, Rollouts: c.rolloutTraces, Node: c.nodeName, Version: build.Version, Registerer: registry,
		Report: board.Register(partTraces, "not started yet"), Logger: logger.Named(partTraces), Done: handed.sink(),
		Stopping: func() bool { return ctx.Err() != nil },
	})
}

// newMetricsPush makes the sink of metrics, or nil without an endpoint for them.
func newMetricsPush(ctx context.Context, c config, build export.Build, registry *prometheus.Registry,
	board *health.Board, logger *zap.Logger) (*otlp.Metrics, error) {
	if !c.otlp.Metrics.On {
		return nil, nil
	}
	return otlp.NewMetrics(ctx, otlp.MetricsConfig{
		Signal: c.otlp.Metrics, Interval: c.otlp.Interval, Exponential: c.otlp.Exponential, Node: c.nodeName, Version: build.Version,
		Gatherer: registry, Registerer: registry,
		Report: board.Register(partMetrics, "not started yet"), Logger: logger.Named(partMetrics),
	})
}
