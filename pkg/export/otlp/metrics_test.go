package otlp

import (
	"context"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metricpb "go.opentelemetry.io/proto/otlp/metrics/v1"
)

// observed is a registry with one counter and one histogram.
func observed() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	pulls := prometheus.NewCounter(prometheus.CounterOpts{Name: "podlapse_pulls_total", Help: "Pulls."})
	lengths := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "podlapse_pull_seconds", Help: "Lengths.", Buckets: []float64{1, 5}})
	registry.MustRegister(pulls, lengths)
	pulls.Add(3)
	lengths.Observe(2)
	lengths.Observe(9)
	return registry
}

// newPush makes the sink of metrics of what the environment says, and tells what it last reported.
func newPush(t *testing.T) (*Metrics, func() (bool, string)) {
	t.Helper()
	settings, err := FromEnvironment(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var lastUp bool
	var last string
	push, err := NewMetrics(t.Context(), MetricsConfig{
		Signal: settings.Metrics, Interval: settings.Interval, Node: "node-a", Version: "v1.2.3", Gatherer: observed(),
		Report: func(up bool, detail string) {
			mu.Lock()
			defer mu.Unlock()
			lastUp, last = up, detail
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return push, func() (bool, string) {
		mu.Lock()
		defer mu.Unlock()
		return lastUp, last
	}
}

func (r *receiver) pushes() []*metricpb.ResourceMetrics {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*metricpb.ResourceMetrics(nil), r.metrics...)
}

func TestMetricsAreThoseOfPrometheus(t *testing.T) {
	var collector receiver
	collector.overHTTP(t)
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "20")
	push, health := newPush(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- push.Run(ctx) }()
	eventually(t, "two intervals", func() bool { return len(collector.pushes()) >= 2 })
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if up, detail := health(); !up || !strings.HasPrefix(detail, "sending to ") {
		t.Errorf("%v %s", up, detail)
	}
	pushed := collector.pushes()[0]
	var resource strings.Builder
	printAttributes(&resource, "", pushed.Resource.Attributes, false)
	if !strings.Contains(resource.String(), "service.name = podlapse-agent\n") {
		t.Errorf("from\n%s", resource.String())
	}
	var names []string
	for _, scope := range pushed.ScopeMetrics {
		for _, m := range scope.Metrics {
			names = append(names, m.Name)
			if sum := m.GetSum(); sum != nil && (sum.DataPoints[0].GetAsDouble() != 3 || !sum.IsMonotonic ||
				sum.AggregationTemporality != metricpb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE) {
				t.Errorf("counter %v", sum)
			}
			if h := m.GetHistogram(); h != nil && (h.DataPoints[0].Count != 2 || h.DataPoints[0].GetSum() != 11 || len(h.DataPoints[0].BucketCounts) != 3) {
				t.Errorf("histogram %v", h)
			}
		}
	}
	if strings.Join(names, " ") != "podlapse_pull_seconds podlapse_pulls_total" {
		t.Errorf("metrics %v", names)
	}
}

// Stopping sends the last state, and takes less than a second whatever the collector does.
func TestStopSendsMetricsOnceMore(t *testing.T) {
	for name, collector := range map[string]*receiver{
		"well": {}, "refuses": {answer: http.StatusForbidden}, "stalls": {stall: make(chan struct{})}, "is overloaded": {answer: http.StatusTooManyRequests},
		"is overloaded for an hour": {answer: http.StatusServiceUnavailable, later: "3600"}, "resets": {resets: -1},
	} {
		t.Run(name, func(t *testing.T) {
			collector.overHTTP(t)
			push, health := newPush(t)
			stopped, stop := context.WithCancel(t.Context())
			stop()
			began := time.Now()
			if err := push.Run(stopped); err != nil || time.Since(began) > time.Second {
				t.Errorf("ended with %v after %s", err, time.Since(began))
			}
			if up, detail := health(); up != (name == "well") || len(collector.pushes()) > 0 != up {
				t.Errorf("%v %s", up, detail)
			}
		})
	}
}
