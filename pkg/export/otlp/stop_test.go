package otlp

import (
	"context"
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracesv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// slow is an exporter that takes its time for each batch.
type slow struct{ each time.Duration }

func (s slow) ExportSpans(ctx context.Context, _ []sdktrace.ReadOnlySpan) error {
	select {
	case <-time.After(s.each):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (slow) Shutdown(context.Context) error { return nil }

// What waits at the end is sent, as far as the collector takes it within 0.8 s; the rest is left to the next agent. Time passes here
// only while the collector takes its time, so that a busy machine changes nothing.
func TestStopSendsWhatWaits(t *testing.T) {
	for _, test := range []struct {
		each time.Duration // 1024 start-ups are 32 batches
		sent int
	}{{0, tracesQueue}, {20 * ms, tracesQueue}, {90 * ms, 8 * batchStartups}} {
		synctest.Test(t, func(t *testing.T) {
			done := 0
			sink := &running{registry: prometheus.NewRegistry()}
			sink.Traces = newTraces(TracesConfig{
				Signal: Signal{Timeout: defaultTimeout}, Registerer: sink.registry, Logger: zap.NewNop(), Report: func(bool, string) {},
				Done: func(timeline.Timeline) { done++ },
			}, newTracer(resource.Empty(), ""), slow{test.each})
			for range tracesQueue {
				sink.Offer(stuck())
			}
			stopped, stop := context.WithCancel(t.Context())
			stop()
			began := time.Now()
			if err := sink.Run(stopped); err != nil || time.Since(began) > time.Second {
				t.Errorf("ended with %v after %s", err, time.Since(began))
			}
			sink.mustCount(t, float64(test.sent), float64(tracesQueue-test.sent))
			if done != test.sent {
				t.Errorf("%s a batch: %d are done, want %d", test.each, done, test.sent)
			}
		})
	}
}

// Of what is lost after the agent was told to stop, only what a collector refused for good is done, however soon a try is given up.
func TestStopLeavesToTheNextAgentWhatWasNotRefused(t *testing.T) {
	rejects := &tracesv1.ExportTracePartialSuccess{RejectedSpans: 1, ErrorMessage: "too old"}
	const waiting = 100
	for name, test := range map[string]struct {
		collector *receiver
		protocol  string
		sampler   string
		done      int
	}{
		"gone":                      {nil, protocolHTTP, "", 0},
		"gone gRPC":                 {nil, protocolGRPC, "", 0},
		"stalls":                    {&receiver{stall: make(chan struct{})}, protocolHTTP, "", 0},
		"resets":                    {&receiver{resets: -1}, protocolHTTP, "", 0},
		"overloaded":                {&receiver{answer: http.StatusServiceUnavailable}, protocolHTTP, "", 0},
		"overloaded for an hour":    {&receiver{answer: http.StatusTooManyRequests, later: "3600"}, protocolHTTP, "", 0},
		"overloaded gRPC":           {&receiver{refuses: status.Error(codes.Unavailable, "later")}, protocolGRPC, "", 0},
		"refuses":                   {&receiver{answer: http.StatusForbidden}, protocolHTTP, "", waiting},
		"refuses gRPC":              {&receiver{refuses: status.Error(codes.PermissionDenied, "no")}, protocolGRPC, "", waiting},
		"takes no such length gRPC": {&receiver{refuses: status.Error(codes.ResourceExhausted, "too large")}, protocolGRPC, "", waiting},
		"rejects some":              {&receiver{partial: rejects}, protocolHTTP, "", waiting},
		"rejects some gRPC":         {&receiver{partial: rejects}, protocolGRPC, "", waiting},
		"takes it":                  {&receiver{}, protocolHTTP, "", waiting},
		"gone, nothing sampled":     {nil, protocolHTTP, "always_off", waiting},
	} {
		t.Run(name, func(t *testing.T) {
			switch {
			case test.collector == nil:
				t.Setenv(endpoint, "http://127.0.0.1:1")
			case test.protocol == protocolGRPC:
				test.collector.overGRPC(t)
			default:
				test.collector.overHTTP(t)
			}
			t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", test.protocol)
			t.Setenv("OTEL_TRACES_SAMPLER", test.sampler)
			if test.done == 0 { // several tries within the 0.8 s
				t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "200")
			}
			settings, err := FromEnvironment(os.Getenv)
			if err != nil {
				t.Fatal(err)
			}
			done := 0
			traces, err := NewTraces(t.Context(), TracesConfig{
				Signal: settings.Traces, Node: "node-a", Version: "v1", Registerer: prometheus.NewRegistry(), Logger: zap.NewNop(),
				Report: func(bool, string) {}, Done: func(timeline.Timeline) { done++ },
			})
			if err != nil {
				t.Fatal(err)
			}
			for range waiting {
				traces.Offer(stuck())
			}
			stopped, stop := context.WithCancel(t.Context())
			stop()
			if err := traces.Run(stopped); err != nil {
				t.Error(err)
			}
			if done != test.done {
				t.Errorf("%d of %d are done, want %d", done, waiting, test.done)
			}
		})
	}
}

// What finds no place is lost while the agent goes on; once it was told to stop, the next one has places.
func TestAFullQueueAtTheEnd(t *testing.T) {
	var stopping atomic.Bool
	done := 0
	traces := newTraces(TracesConfig{
		Registerer: prometheus.NewRegistry(), Logger: zap.NewNop(), Stopping: stopping.Load, Done: func(timeline.Timeline) { done++ },
	}, nil, nil)
	for range tracesQueue + 3 {
		traces.Offer(stuck())
	}
	stopping.Store(true)
	traces.Offer(stuck())
	if done != 3 {
		t.Errorf("%d are done, want 3", done)
	}
}
