package probe

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

func registryServer(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	return server.URL
}

func recorded(t *testing.T) (*Metrics, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	m := NewMetrics(registry, []Probe{{Name: "db", Kind: KindTCP}})
	m.Record(Outcome{Probe: "db", Kind: KindTCP, Result: ResultConnectError, Length: time.Second,
		Stages: []StageOutcome{{StageDNS, 250 * time.Millisecond, ResultOK},
			{StageConnect, 750 * time.Millisecond, ResultConnectError}}})
	m.Record(Outcome{Probe: "registry:ghcr.io", Kind: KindRegistry, Result: ResultOK, Length: time.Second})
	return m, registry
}

func TestMetrics(t *testing.T) {
	m, registry := recorded(t)
	err := testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP podlapse_probe_up 1 if the latest attempt of the probe succeeded, 0 if it failed. `+
		`Absent before the first attempt.
# TYPE podlapse_probe_up gauge
podlapse_probe_up{kind="registry",probe="registry:ghcr.io"} 1
podlapse_probe_up{kind="tcp",probe="db"} 0
`), "podlapse_probe_up")
	if err != nil {
		t.Error(err)
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
	for name, want := range map[string]int{"podlapse_probe_attempts_total": 2 * len(Results()),
		"podlapse_probe_duration_seconds": 4} {
		if got, err := testutil.GatherAndCount(registry, name); got != want || err != nil {
			t.Errorf("%s has %d series, %v, want %d", name, got, err, want)
		}
	}
	m.Forget("registry:ghcr.io")
	for name, want := range map[string]int{"podlapse_probe_attempts_total": len(Results()),
		"podlapse_probe_duration_seconds": 3, "podlapse_probe_up": 1} {
		if got, err := testutil.GatherAndCount(registry, name); got != want || err != nil {
			t.Errorf("%s has %d series, %v, want %d", name, got, err, want)
		}
	}
}

// TestMetricsOverOTLP reads the metrics through OTLP.
func TestMetricsOverOTLP(t *testing.T) {
	_, registry := recorded(t)
	scopes, err := bridge.NewMetricProducer(bridge.WithGatherer(registry)).Produce(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]float64{}
	for _, scope := range scopes {
		for _, metric := range scope.Metrics {
			if metric.Name != "podlapse_probe_duration_seconds" {
				continue
			}
			switch data := metric.Data.(type) {
			case metricdata.ExponentialHistogram[float64]:
				for _, point := range data.DataPoints {
					stage, _ := point.Attributes.Value("stage")
					sums[stage.AsString()] += point.Sum
				}
			case metricdata.Histogram[float64]:
				for _, point := range data.DataPoints {
					stage, _ := point.Attributes.Value("stage")
					sums[stage.AsString()] += point.Sum
				}
			}
		}
	}
	if sums["connect"] != 0.75 || sums["total"] != 2 || sums["dns"] != 0.25 {
		t.Errorf("over OTLP the sums of the stages are %v", sums)
	}
}
