package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/podlapse/podlapse/internal/critest"
	"github.com/podlapse/podlapse/internal/podwatchtest"
	"github.com/podlapse/podlapse/internal/registrylabel"
	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// The limits of a scrape, which docs/metrics.md states.
const (
	maxSeries    = 1000      // series of a node with default flags and 110 pods, the kubelet's default
	maxGzipBytes = 100 << 10 // size of the response of a node with 500 pods and every option on
)

// manyRegistries is more than the number of registries with a label.
const manyRegistries = 2 * registrylabel.Max

// seriesOf counts the series of each metric in the same way as a Prometheus server that scrapes text. Every bucket,
// sum and count is a series.
func seriesOf(t *testing.T, gatherer prometheus.Gatherer) map[string]int {
	t.Helper()
	families, err := gatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := map[string]int{}
	for _, family := range families {
		var text bytes.Buffer
		if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text.String()) {
			if !strings.HasPrefix(line, "#") {
				series[family.GetName()]++
			}
		}
	}
	return series
}

// registeredNames returns the names of the agent's own metrics in a registry, with or without series.
func registeredNames(t *testing.T, registry *prometheus.Registry) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, d := range descriptions(t, registry) {
		names[d.name] = true
	}
	return names
}

func sum(series map[string]int) (all int) {
	for _, n := range series {
		all += n
	}
	return all
}

// TestScrapeHasFewSeries counts the series of a real agent with default flags. For a metric that has more series on a
// fullNode, the test uses the number of the fullNode.
func TestScrapeHasFewSeries(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "containerd.sock")
	cri := critest.Start(t, socket, critest.Options{})
	cluster := podwatchtest.Start(t)
	agent := startInside(t, cluster, "--cri-endpoint=unix://"+socket)
	agent.awaitMetric(t, "podlapse_runtime_store_served", 1)
	series := seriesOf(t, agent.registry)
	cri.Fault(critest.Hang) // the runtime hangs, so the agent requests Events, and the requests have series
	cluster.Put(web0(time.Now()))
	agent.awaitMetric(t, "podlapse_event_watches_opened_total", 1)
	for name, n := range seriesOf(t, agent.registry) {
		series[name] = max(series[name], n)
	}
	// In the worst case, a request of each kind has failed.
	series["podlapse_apiserver_request_failures_total"] = series["podlapse_apiserver_requests_total"]
	own := registeredNames(t, agent.registry)
	full := seriesOf(t, fullNode{pods: 110, registries: manyRegistries}.registry())
	for name, n := range full {
		if !own[name] {
			t.Errorf("the agent has no metric %s", name)
		}
		series[name] = max(series[name], n)
	}
	for name := range own {
		if series[name] == 0 {
			t.Errorf("%s has no series, so the test does not count it", name)
		}
	}
	t.Logf("%d series, %d of them about start-ups", sum(series), sum(full))
	if all := sum(series); all > maxSeries {
		t.Errorf("%d series, want at most %d: %v", all, maxSeries, series)
	}
	if more := sum(seriesOf(t, fullNode{pods: 110, registries: 2 * manyRegistries}.registry())); more != sum(full) {
		t.Errorf("%d series with twice as many registries, want %d", more, sum(full))
	}
}

// formats are the formats that Prometheus requests.
var formats = map[string]string{
	"text":        "text/plain;version=0.0.4",
	"openmetrics": "application/openmetrics-text;version=1.0.0",
	"protobuf":    "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited",
}

// scrapedBytes requests metrics like Prometheus, and returns the size of the compressed response.
func scrapedBytes(t testing.TB, handler http.Handler, accept string) int {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
	request.Header.Set("Accept", accept)
	request.Header.Set("Accept-Encoding", "gzip")
	response := httptest.NewRecorder()
	handler.ServeHTTP(response, request)
	mediaType, _, _ := strings.Cut(accept, ";")
	if response.Code != http.StatusOK || response.Header().Get("Content-Encoding") != "gzip" ||
		!strings.HasPrefix(response.Header().Get("Content-Type"), mediaType) {
		t.Fatalf("%d, %v", response.Code, response.Header())
	}
	return response.Body.Len()
}

// busiestNode returns the metrics of a node with 500 pods, more registries than label values, a series for each pod and
// for the maximum number of workloads, and exemplars.
func busiestNode() *prometheus.Registry {
	trace := func(t timeline.Timeline) string {
		return fmt.Sprintf("%032x", rand.New(rand.NewPCG(7, uint64(len(t.UID)))).Uint64())
	}
	return fullNode{pods: 500, registries: registrylabel.Max + 2, podSeries: true,
		workloads: export.MaxWorkloads, trace: trace}.registry()
}

// withRest combines the start-up metrics of the busiest node with the other metrics of an agent.
func withRest(start, agent prometheus.Gatherer) prometheus.Gatherer {
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		all, err := start.Gather()
		if err != nil {
			return nil, err
		}
		names := map[string]bool{}
		for _, family := range all {
			names[family.GetName()] = true
		}
		rest, err := agent.Gather()
		for _, family := range rest {
			if !names[family.GetName()] {
				all = append(all, family)
			}
		}
		return all, err
	})
}

func TestScrapeIsSmall(t *testing.T) {
	all := withRest(busiestNode(), fullRegistry(t))
	handler := promhttp.HandlerFor(all, promhttp.HandlerOpts{EnableOpenMetrics: true})
	for name, accept := range formats {
		got := scrapedBytes(t, handler, accept)
		t.Logf("%s: %d bytes", name, got)
		if got > maxGzipBytes {
			t.Errorf("%s: %d bytes, want at most %d", name, got, maxGzipBytes)
		}
	}
}

// BenchmarkScrapeFullNode scrapes the metrics of start-ups of a full node with 500 pods, and of the busiest node.
func BenchmarkScrapeFullNode(b *testing.B) {
	for node, registry := range map[string]*prometheus.Registry{
		"default": fullNode{pods: 500, registries: manyRegistries}.registry(), "busiest": busiestNode(),
	} {
		handler := promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
		for name, accept := range formats {
			b.Run(node+"/"+name, func(b *testing.B) {
				bytes := 0
				for b.Loop() {
					bytes = scrapedBytes(b, handler, accept)
				}
				b.ReportMetric(float64(bytes), "gzip-B")
			})
		}
	}
}
