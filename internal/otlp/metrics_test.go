package otlp

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metricpb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"go.uber.org/zap"
)

// observed returns a registry with one counter and one histogram. The histogram has native buckets, like all
// histograms of the agent.
func observed() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	pulls := prometheus.NewCounter(prometheus.CounterOpts{Name: "podlapse_pulls_total", Help: "Pulls."})
	lengths := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "podlapse_pull_seconds", Help: "Lengths.",
		Buckets:                     []float64{1, 5},
		NativeHistogramBucketFactor: 1.1})
	registry.MustRegister(pulls, lengths)
	pulls.Add(3)
	lengths.Observe(2)
	lengths.(prometheus.ExemplarObserver).ObserveWithExemplar(9,
		prometheus.Labels{"trace_id": "0af7651916cd43dd8448eb211c80319c"})
	return registry
}

// newPush creates the metrics sink from the environment. The returned function returns the sink's latest report.
func newPush(t *testing.T, gatherer prometheus.Gatherer) (*Metrics, func() (bool, string)) {
	t.Helper()
	settings, err := FromEnvironment(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var lastUp bool
	var last string
	push, err := NewMetrics(t.Context(), MetricsConfig{
		Signal: settings.Metrics, Interval: settings.Interval, Exponential: settings.Exponential, Node: "node-a",
		Version: "v1.2.3", Gatherer: gatherer, Registerer: prometheus.NewRegistry(), Logger: zap.NewNop(),
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

func TestMetricsEqualPrometheus(t *testing.T) {
	var collector receiver
	collector.overHTTP(t)
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "20")
	madeAfter := time.Now()
	push, health := newPush(t, observed())
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
			if m.Name != "podlapse_pull_seconds" {
				continue
			}
			points := m.GetHistogram().GetDataPoints()
			if len(points) != 1 || points[0].Count != 2 || points[0].GetSum() != 11 ||
				!slices.Equal(points[0].ExplicitBounds, []float64{1, 5}) ||
				!slices.Equal(points[0].BucketCounts, []uint64{0, 1, 1}) {
				t.Fatalf("histogram %v", m)
			}
			began := points[0].StartTimeUnixNano
			if began < uint64(madeAfter.UnixNano()) || began > uint64(time.Now().UnixNano()) {
				t.Errorf("counter starts at %d", began)
			}
			e := points[0].Exemplars
			if len(e) != 1 || e[0].GetAsDouble() != 9 ||
				hex.EncodeToString(e[0].TraceId) != "0af7651916cd43dd8448eb211c80319c" {
				t.Errorf("exemplars %v", e)
			}
		}
	}
	if strings.Join(names, " ") != "podlapse_pull_seconds podlapse_pulls_total" {
		t.Errorf("metrics %v", names)
	}
}

func TestExponentialHistogramsAreOptional(t *testing.T) {
	var collector receiver
	collector.overHTTP(t)
	t.Setenv(histogramAggregation, exponentialHistogram)
	push, _ := newPush(t, observed())
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := push.Run(stopped); err != nil {
		t.Fatal(err)
	}
	points := collector.metric(t, "podlapse_pull_seconds").GetExponentialHistogram().GetDataPoints()
	if len(points) != 1 || points[0].Count != 2 || points[0].GetSum() != 11 {
		t.Errorf("histogram %v", points)
	}
}

// If the agent cannot gather a metric, it reports this error and sends all other metrics.
func TestMetricsWithFailingCollector(t *testing.T) {
	var collector receiver
	collector.overHTTP(t)
	registry := observed()
	broken := prometheus.NewDesc("podlapse_broken", "Broken.", nil, nil)
	registry.MustRegister(collectorFunc(func(metrics chan<- prometheus.Metric) {
		metrics <- prometheus.NewInvalidMetric(broken, errors.New("no such thing"))
	}))
	push, health := newPush(t, registry)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := push.Run(stopped); err != nil {
		t.Fatal(err)
	}
	up, detail := health()
	if up || !strings.Contains(detail, "no such thing") || testutil.ToFloat64(push.failures) != 1 {
		t.Errorf("%v %s, %v failures", up, detail, testutil.ToFloat64(push.failures))
	}
	if sum := collector.metric(t, "podlapse_pulls_total").GetSum(); sum.GetDataPoints()[0].GetAsDouble() != 3 {
		t.Errorf("counter %v", sum)
	}
}

// collectorFunc is a collector that does not describe its metrics in advance.
type collectorFunc func(chan<- prometheus.Metric)

func (f collectorFunc) Describe(chan<- *prometheus.Desc)         {}
func (f collectorFunc) Collect(metrics chan<- prometheus.Metric) { f(metrics) }

// metric returns a received metric.
func (r *receiver) metric(t *testing.T, name string) *metricpb.Metric {
	t.Helper()
	for _, push := range r.pushes() {
		for _, scope := range push.ScopeMetrics {
			for _, m := range scope.Metrics {
				if m.Name == name {
					return m
				}
			}
		}
	}
	t.Fatalf("%s was not received", name)
	return nil
}

// When the sink stops, it sends the latest values. The stop takes less than a second, whatever the collector does. A
// busy machine can delay the stop, so the test allows half of defaultTimeout, for which the sink would wait otherwise.
func TestStopSendsLastMetrics(t *testing.T) {
	for name, collector := range map[string]*receiver{
		"healthy": {}, "refuses": {response: http.StatusForbidden}, "stalls": {stall: make(chan struct{})},
		"is overloaded":             {response: http.StatusTooManyRequests},
		"is overloaded for an hour": {response: http.StatusServiceUnavailable, later: "3600"}, "resets": {resets: -1},
	} {
		t.Run(name, func(t *testing.T) {
			collector.overHTTP(t)
			push, health := newPush(t, observed())
			stopped, stop := context.WithCancel(t.Context())
			stop()
			began := time.Now()
			if err := push.Run(stopped); err != nil || time.Since(began) > defaultTimeout/2 {
				t.Errorf("stopped with %v after %s", err, time.Since(began))
			}
			if failed := testutil.ToFloat64(push.failures); failed != 0 != (name != "healthy") {
				t.Errorf("counted %v failures", failed)
			}
			if up, detail := health(); up != (name == "healthy") || len(collector.pushes()) > 0 != up {
				t.Errorf("%v %s", up, detail)
			}
		})
	}
}
