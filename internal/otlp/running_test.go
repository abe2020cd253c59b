package otlp

import (
	"context"
	"maps"
	"os"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// running is a running sink.
type running struct {
	*Traces
	registry *prometheus.Registry
	stop     func() // stops the sink and waits for its end

	mu     sync.Mutex
	up     bool
	detail string
}

// run creates a sink from the environment and runs it.
func run(t *testing.T) *running {
	t.Helper()
	return runWith(t, func(*TracesConfig) {})
}

func runWith(t *testing.T, adjust func(*TracesConfig)) *running {
	t.Helper()
	settings, err := FromEnvironment(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	r := &running{registry: prometheus.NewRegistry()}
	config := TracesConfig{
		Signal: settings.Traces, Node: "node-a", Version: "v1.2.3", Registerer: r.registry, Logger: zap.NewNop(),
		Report: func(up bool, detail string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.up, r.detail = up, detail
		},
	}
	adjust(&config)
	r.Traces, err = NewTraces(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var group errgroup.Group
	group.Go(func() error { return r.Run(ctx) })
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := group.Wait(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(r.stop)
	return r
}

func (r *running) health() (bool, string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.up, r.detail
}

// mustCount checks the sink's metrics and that the queue is empty.
func (r *running) mustCount(t *testing.T, sent, dropped float64) {
	t.Helper()
	got := r.counts(t)
	want := map[string]float64{
		"podlapse_sink_sent_total otlp": sent, "podlapse_sink_dropped_total otlp": dropped,
		"podlapse_sink_queue_length otlp": 0,
	}
	if !maps.Equal(got, want) {
		t.Errorf("counted %v, want %v sent and %v dropped", got, sent, dropped)
	}
}

// wait waits until the given number of start-ups is counted as sent or dropped, and then stops the sink. A request
// that is in progress at the stop has only 0.8 s, which can be too short on a busy machine.
func (r *running) wait(t *testing.T, startups float64) {
	t.Helper()
	eventually(t, "all are counted", func() bool {
		got := r.counts(t)
		return got["podlapse_sink_sent_total otlp"]+got["podlapse_sink_dropped_total otlp"] == startups
	})
	r.stop()
}

func (r *running) counts(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			got[f.GetName()+" "+m.Label[0].GetValue()] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return got
}

func sendAll(t *testing.T, timelines ...timeline.Timeline) {
	t.Helper()
	sink := run(t)
	for _, tl := range timelines {
		sink.Offer(tl)
	}
	sink.wait(t, float64(len(timelines)))
}
