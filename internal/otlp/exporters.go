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

// retries is the back-off of sendWithRetries and of the exporters. The back-off is short, because a restarted collector
// is available again within seconds.
var retries = backoff.Policy{First: 500 * time.Millisecond, Max: 2 * time.Second}

// retry returns the configuration of the exporters' own retries. Each of the four exporters has its own configuration
// type. The four types have the same fields, so callers can convert the result to the type of their exporter.
func (s Signal) retry() otlptracehttp.RetryConfig {
	return otlptracehttp.RetryConfig{
		Enabled: true, InitialInterval: retries.First, MaxInterval: retries.Max, MaxElapsedTime: s.Timeout,
	}
}

// newSpanExporter creates OpenTelemetry's exporter for traces. The exporter itself reads the environment variables
// OTEL_EXPORTER_OTLP_*. newSpanExporter does not connect to the collector.
func newSpanExporter(ctx context.Context, s Signal) (sdktrace.SpanExporter, error) {
	var exporter sdktrace.SpanExporter
	var err error
	if s.Protocol == protocolGRPC {
		exporter, err = otlptracegrpc.New(ctx, otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig(s.retry())))
	} else {
		exporter, err = otlptracehttp.New(ctx, otlptracehttp.WithRetry(s.retry()))
	}
	if err != nil {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_*: create the exporter for traces: %w", err)
	}
	return exporter, nil
}

// newMetricExporter creates OpenTelemetry's exporter for metrics. The exporter itself reads the environment variables
// OTEL_EXPORTER_OTLP_*. newMetricExporter does not connect to the collector.
func newMetricExporter(ctx context.Context, s Signal) (sdkmetric.Exporter, error) {
	var exporter sdkmetric.Exporter
	var err error
	if s.Protocol == protocolGRPC {
		exporter, err = otlpmetricgrpc.New(ctx, otlpmetricgrpc.WithRetry(otlpmetricgrpc.RetryConfig(s.retry())))
	} else {
		exporter, err = otlpmetrichttp.New(ctx, otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig(s.retry())))
	}
	if err != nil {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_*: create the exporter for metrics: %w", err)
	}
	return exporter, nil
}
