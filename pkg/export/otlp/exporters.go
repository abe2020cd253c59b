package otlp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/podlapse/podlapse/pkg/backoff"
)

// retries is the pace of both exporters, and of ours: a collector that restarts is back within seconds.
var retries = backoff.Policy{First: 500 * time.Millisecond, Max: 2 * time.Second}

// retry is how an exporter tries again by itself. The four have a type each for it, of the same fields.
func (s Signal) retry() otlptracehttp.RetryConfig {
	return otlptracehttp.RetryConfig{
		Enabled: true, InitialInterval: retries.First, MaxInterval: retries.Max, MaxElapsedTime: s.Timeout,
	}
}

// newSpanExporter makes the official exporter, which reads its own variables. It connects to nobody yet.
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

// send tries to send within the timeout, and again if nobody listened or the connection broke: the exporters try again by
// themselves only what a collector answered that it could not take now. What arrives twice is the same: spans have the IDs
// of the start-up, metrics count from the start of the agent.
func send(ctx context.Context, timeout time.Duration, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for failures := 0; ; failures++ {
		err := try(ctx)
		if err == nil || !unanswered(err) || !backoff.Sleep(ctx, retries.Delay(failures)) {
			return err
		}
	}
}

// unanswered says that there was no collector, or that it went away before it answered.
func unanswered(err error) bool {
	var network *net.OpError
	return errors.As(err, &network) && network.Op == "dial" || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// isWarning says that a collector took all of what it answered with words: a partial success without anything rejected. The
// error's type is internal to each exporter.
func isWarning(err error) bool {
	return err != nil && strings.Contains(err.Error(), "OTLP partial success: ") && strings.Contains(err.Error(), "(0 ")
}
