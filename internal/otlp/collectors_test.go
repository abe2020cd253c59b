package otlp

import (
	"context"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	tracesv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/pkg/timeline"
)

const offeredTraces = tracesQueue + 44

// failingCollectors are the cases of TestFailingCollectors.
var failingCollectors = map[string]struct {
	collector *receiver
	dead      bool
	deaf      string // the protocol of a collector that never accepts connections
	sent      float64
	dropped   float64
	detail    string
}{
	"dead": {collector: &receiver{}, dead: true, sent: 0, dropped: offeredTraces, detail: "items dropped"},
	"stalls": {collector: &receiver{stall: make(chan struct{})}, sent: 0, dropped: offeredTraces,
		detail: "items dropped"},
	"never responds over HTTP": {collector: &receiver{}, deaf: protocolHTTP, sent: 0, dropped: offeredTraces,
		detail: "items dropped"},
	"never responds over gRPC": {collector: &receiver{}, deaf: protocolGRPC, sent: 0, dropped: offeredTraces,
		detail: "items dropped"},
	"resets": {collector: &receiver{resets: -1}, sent: 0, dropped: offeredTraces, detail: "items dropped"},
	"is overloaded for an hour": {collector: &receiver{response: http.StatusServiceUnavailable, later: "3600"},
		sent: 0, dropped: offeredTraces, detail: "max retry time would elapse"},
	"refuses": {collector: &receiver{response: http.StatusForbidden}, sent: 0, dropped: offeredTraces,
		detail: "403"},
	"is overloaded": {collector: &receiver{response: http.StatusServiceUnavailable}, sent: 0, dropped: offeredTraces,
		detail: "items dropped"},
	"warns": {collector: &receiver{partial: &tracesv1.ExportTracePartialSuccess{ErrorMessage: "old"}},
		sent: tracesQueue, dropped: offeredTraces - tracesQueue, detail: "sending"},
	"rejects some of it": {collector: &receiver{partial: &tracesv1.ExportTracePartialSuccess{RejectedSpans: 1,
		ErrorMessage: "too old"}}, sent: 0, dropped: offeredTraces, detail: "too old"},
}

// The sink counts every start-up and stops within a second, whatever the collector does.
func TestFailingCollectors(t *testing.T) {
	for name, test := range failingCollectors {
		t.Run(name, func(t *testing.T) {
			test.collector.overHTTP(t)
			if test.dead {
				t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
			}
			if test.deaf != "" {
				deaf(t)
				t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", test.deaf)
			}
			settings, err := FromEnvironment(os.Getenv)
			if err != nil {
				t.Fatal(err)
			}
			sink := &running{registry: prometheus.NewRegistry()}
			var done atomic.Int64
			sink.Traces, err = NewTraces(t.Context(), TracesConfig{
				Signal: settings.Traces, Node: "node-a", Version: "v1", Registerer: sink.registry, Logger: zap.NewNop(),
				Report: func(up bool, detail string) { sink.up, sink.detail = up, detail },
				Done:   func(timeline.Timeline) { done.Add(1) },
			})
			if err != nil {
				t.Fatal(err)
			}
			for range offeredTraces {
				sink.Offer(stuck()) // fills the queue
			}
			ctx, cancel := context.WithCancel(t.Context())
			var began time.Time
			stop := func() { began = time.Now(); cancel() }
			var stopper sync.WaitGroup
			if test.detail == "items dropped" {
				stop()
			} else { // wait for the collector's response before the stop
				stopper.Go(func() {
					for done.Load() < offeredTraces {
						time.Sleep(time.Millisecond)
					}
					stop()
				})
			}
			err = sink.Run(ctx)
			ended := time.Now()
			stopper.Wait()
			// A request that waits for the collector would take 10 s, the default timeout of OTLP.
			if took := ended.Sub(began); err != nil || took > 5*time.Second {
				t.Errorf("stopped with %v after %s", err, took)
			}
			sink.mustCount(t, test.sent, test.dropped)
			if !strings.Contains(sink.detail, test.detail) {
				t.Errorf("the detail is %q", sink.detail)
			}
			want := int64(offeredTraces)
			if test.detail == "items dropped" { // the stop dropped these items, so the next agent can send them
				want = offeredTraces - tracesQueue
			}
			if done.Load() != want {
				t.Errorf("handled %d, want %d", done.Load(), want)
			}
		})
	}
}

func TestCollectorComesBack(t *testing.T) {
	for name, collector := range map[string]*receiver{
		"was overloaded":                  {response: http.StatusServiceUnavailable},
		"requests a retry after a second": {response: http.StatusServiceUnavailable, later: "1"},
		"was killed":                      {resets: 2},
	} {
		t.Run(name, func(t *testing.T) {
			collector.overHTTP(t)
			sink := run(t)
			began := time.Now() // before the first request, so a slow machine cannot make the wait look shorter
			sink.Offer(stuck())
			eventually(t, "it is tried", func() bool {
				collector.mu.Lock()
				defer collector.mu.Unlock()
				return collector.header != nil
			})
			collector.mu.Lock()
			collector.response = 0
			collector.mu.Unlock()
			eventually(t, "it is sent after all", func() bool { return len(collector.spans()) > 0 })
			if took := time.Since(began); collector.later != "" && took < 900*time.Millisecond {
				t.Errorf("retried after %s", took)
			}
			sink.stop()
			sink.mustCount(t, 1, 0)
		})
	}
}

// If a collector requests a retry after the timeout, the sink drops the batch at once, and sends the next batch.
func TestCollectorWithLongRetryAfter(t *testing.T) {
	collector := receiver{response: http.StatusServiceUnavailable, later: "3600"}
	collector.overHTTP(t)
	sink := run(t)
	sink.Offer(stuck())
	eventually(t, "it is given up", func() bool {
		up, detail := sink.health()
		return !up && strings.Contains(detail, "max retry time would elapse")
	})
	collector.mu.Lock()
	collector.response, collector.later = 0, ""
	collector.mu.Unlock()
	sink.Offer(stuck())
	eventually(t, "the next is sent", func() bool { return len(collector.spans()) > 0 })
	sink.stop()
	sink.mustCount(t, 1, 1)
}

// While a collector restarts, its port is closed.
func TestCollectorRestarts(t *testing.T) {
	var listen net.ListenConfig
	listener, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+address)
	sink := run(t)
	sink.Offer(stuck())
	eventually(t, "it is taken", func() bool { return sink.queue.Len() == 0 })
	if listener, err = listen.Listen(t.Context(), "tcp", address); err != nil {
		t.Skip("another program uses the port now: ", err)
	}
	var collector receiver
	server := &http.Server{Handler: &collector, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	eventually(t, "it is sent after all", func() bool { return len(collector.spans()) > 0 })
	sink.stop()
	sink.mustCount(t, 1, 0)
}
