package otlp

import (
	"context"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// stub is a function that acts as an exporter. The exporter calls the function for each batch.
type stub func(context.Context) error

func (s stub) ExportSpans(ctx context.Context, _ []sdktrace.ReadOnlySpan) error { return s(ctx) }
func (stub) Shutdown(context.Context) error                                     { return nil }

// taking returns an exporter that takes some time for each batch.
func taking(each time.Duration) stub {
	return func(ctx context.Context) error {
		select {
		case <-time.After(each):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stubbed returns a sink that does not run yet, and a counter of the start-ups that the sink has handled.
func stubbed(exporter stub, timeout time.Duration) (sink *running, done *atomic.Int64) {
	sink, done = &running{registry: prometheus.NewRegistry()}, new(atomic.Int64)
	sink.Traces = newTraces(TracesConfig{
		Signal: Signal{Timeout: timeout}, Registerer: sink.registry, Logger: zap.NewNop(),
		Report: func(bool, string) {}, Done: func(timeline.Timeline) { done.Add(1) },
	}, newTracer(resource.Empty(), "", false), exporter)
	return sink, done
}

// When the agent stops, the sink sends the queued traces that the collector accepts within 0.8 s. The sink leaves
// the other traces to the next agent. The test uses simulated time, so a busy machine has no effect.
func TestStopSendsQueuedTraces(t *testing.T) {
	for _, test := range []struct {
		each time.Duration // 1024 start-ups are 32 batches
		sent int
	}{{0, tracesQueue}, {20 * ms, tracesQueue}, {90 * ms, 8 * batchItems}} {
		synctest.Test(t, func(t *testing.T) {
			sink, done := stubbed(taking(test.each), defaultTimeout)
			for range tracesQueue {
				sink.Offer(stuck())
			}
			stopped, stop := context.WithCancel(t.Context())
			stop()
			began := time.Now()
			if err := sink.Run(stopped); err != nil || time.Since(began) > 5*time.Second {
				t.Errorf("stopped with %v after %s", err, time.Since(began))
			}
			sink.mustCount(t, float64(test.sent), float64(tracesQueue-test.sent))
			if done.Load() != int64(test.sent) {
				t.Errorf("%s a batch: %d handled, want %d", test.each, done.Load(), test.sent)
			}
		})
	}
}

// After the stop signal, a lost trace counts as handled only if a collector permanently refused the trace. An early
// timeout of an attempt does not change this rule.
func TestStopLeavesUnsentTracesToNextAgent(t *testing.T) {
	const waiting = 3 * batchItems
	for name, test := range map[string]struct {
		exporter stub
		done     int
	}{
		"stalls":       {taking(time.Hour), 0},
		"unreachable":  {func(context.Context) error { return &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED} }, 0},
		"refuses":      {func(context.Context) error { return status.Error(codes.PermissionDenied, "no") }, waiting},
		"rejects some": {func(context.Context) error { return partial("too old", 3) }, waiting},
		"warns":        {func(context.Context) error { return partial("old", 0) }, waiting},
	} {
		// Within 0.8 s, the sink makes several attempts, or less than one attempt.
		for _, timeout := range []time.Duration{defaultTimeout, 200 * ms} {
			synctest.Test(t, func(t *testing.T) {
				sink, done := stubbed(test.exporter, timeout)
				for range waiting {
					sink.Offer(stuck())
				}
				stopped, stop := context.WithCancel(t.Context())
				stop()
				if err := sink.Run(stopped); err != nil || done.Load() != int64(test.done) {
					t.Errorf("%s: %d of %d handled, want %d, %v", name, done.Load(), waiting, test.done, err)
				}
			})
		}
	}
}

// A batch takes no longer than its timeout. During this time, new start-ups wait in a queue of limited length.
func TestSlowCollectorCausesDrops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var healthy atomic.Bool
		sink, done := stubbed(func(ctx context.Context) error {
			if !healthy.Load() {
				<-ctx.Done()
			}
			return ctx.Err()
		}, 300*ms)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- sink.Run(ctx) }()
		sink.Offer(stuck())
		synctest.Wait() // the sink has taken the start-up
		for range tracesQueue + 10 {
			sink.Offer(stuck())
		}
		time.Sleep(299 * ms)
		synctest.Wait()
		if done.Load() != 10 || sink.queue.Len() != tracesQueue {
			t.Errorf("%d handled, %d queued", done.Load(), sink.queue.Len())
		}
		healthy.Store(true)
		time.Sleep(ms)
		synctest.Wait()
		sink.mustCount(t, tracesQueue, 11)
		stop()
		if err := <-ended; err != nil || done.Load() != tracesQueue+11 {
			t.Errorf("%v, %d are done", err, done.Load())
		}
	})
}

// A full queue drops start-ups. While the agent runs, these start-ups are lost. After the stop signal, the queue
// leaves them to the next agent.
func TestFullQueueDuringStop(t *testing.T) {
	var stopping atomic.Bool
	done := 0
	traces := newTraces(TracesConfig{
		Registerer: prometheus.NewRegistry(), Logger: zap.NewNop(), Stopping: stopping.Load,
		Done: func(timeline.Timeline) { done++ },
	}, nil, nil)
	for range tracesQueue + 3 {
		traces.Offer(stuck())
	}
	stopping.Store(true)
	traces.Offer(stuck())
	if done != 3 {
		t.Errorf("%d handled, want 3", done)
	}
}
