// Command otlp runs the OTLP receiver of the OpenTelemetry collector, and writes the received data to a file. The
// program receives requests over HTTP and gRPC. Each request becomes one line of OTLP JSON in the file.
//
//	otlp HTTP-ADDRESS GRPC-ADDRESS FILE
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "otlp:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, words []string) error {
	if len(words) != 3 {
		return errors.New("usage: otlp HTTP_ADDRESS GRPC_ADDRESS FILE")
	}
	file, err := os.OpenFile(words[2], os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open file: %w", err)
	}
	defer file.Close()
	out := &lines{out: file}
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig().(*otlpreceiver.Config)
	config.Protocols.HTTP.GetOrInsertDefault().ServerConfig.NetAddr.Endpoint = words[0]
	config.Protocols.GRPC.GetOrInsertDefault().NetAddr.Endpoint = words[1]
	settings := receiver.Settings{ID: component.NewID(factory.Type()),
		TelemetrySettings: componenttest.NewNopTelemetrySettings()}

	traces, err := consumer.NewTraces(func(_ context.Context, data ptrace.Traces) error {
		return out.write((&ptrace.JSONMarshaler{}).MarshalTraces(data))
	})
	if err != nil {
		return err
	}
	metrics, err := consumer.NewMetrics(func(_ context.Context, data pmetric.Metrics) error {
		return out.write((&pmetric.JSONMarshaler{}).MarshalMetrics(data))
	})
	if err != nil {
		return err
	}
	// CreateTraces and CreateMetrics get the same configuration, so they return the same server.
	server, err := factory.CreateTraces(ctx, settings, config, traces)
	if err != nil {
		return fmt.Errorf("create receiver: %w", err)
	}
	if _, err := factory.CreateMetrics(ctx, settings, config, metrics); err != nil {
		return fmt.Errorf("create receiver: %w", err)
	}
	if err := server.Start(ctx, componenttest.NewNopHost()); err != nil {
		return fmt.Errorf("start receiver: %w", err)
	}
	<-ctx.Done()
	return server.Shutdown(context.WithoutCancel(ctx))
}

// lines appends complete lines to a file. lines is safe for concurrent use.
type lines struct {
	mu  sync.Mutex
	out io.Writer
}

func (l *lines) write(line []byte, err error) error {
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err = l.out.Write(append(line, '\n'))
	return err
}
