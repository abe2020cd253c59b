package otlp

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/podlapse/podlapse/internal/backoff"
)

// retries is the back-off of both exporters, and of send: a collector that restarts is back within
// seconds.
var retries = backoff.Policy{First: 500 * time.Millisecond, Max: 2 * time.Second}

// retry configures an exporter's own retries. The four exporters have a type each for it, with the
// same fields.
func (s Signal) retry() otlptracehttp.RetryConfig {
	return otlptracehttp.RetryConfig{
		Enabled: true, InitialInterval: retries.First, MaxInterval: retries.Max, MaxElapsedTime: s.Timeout,
	}
}

// newSpanExporter creates the official exporter, which reads its own variables. It does not connect
// yet.
func newSpanExporter(ctx context.Context, s Signal) (sdktrace.SpanExporter, error) {
	var exporter sdktrace.SpanExporter
	var err error
	if s.Protocol == protocolGRPC {
		exporter, err = otlptracegrpc.New(ctx, otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig(s.retry())))
	} else {
		exporter, err = otlptracehttp.New(ctx, otlptracehttp.WithRetry(s.retry()))
	}
	if err != nil {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_*: exporter of traces: %w", err)
	}
	return exporter, nil
}

// newMetricExporter is newSpanExporter for metrics.
func newMetricExporter(ctx context.Context, s Signal) (sdkmetric.Exporter, error) {
	var exporter sdkmetric.Exporter
	var err error
	if s.Protocol == protocolGRPC {
		exporter, err = otlpmetricgrpc.New(ctx, otlpmetricgrpc.WithRetry(otlpmetricgrpc.RetryConfig(s.retry())))
	} else {
		exporter, err = otlpmetrichttp.New(ctx, otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig(s.retry())))
	}
	if err != nil {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_*: exporter of metrics: %w", err)
	}
	return exporter, nil
}
