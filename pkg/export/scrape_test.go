package export

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/podlapse/podlapse/internal/jsonlines"
	"github.com/podlapse/podlapse/internal/livepull"
	"github.com/podlapse/podlapse/internal/registrylabel"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// What a scrape may cost.
const (
	maxSeries    = 1500      // of a node with 110 pods, kubelet's default, with default flags
	maxGzipBytes = 100 << 10 // of one with 500, with every option on
)

// manyRegistries are more than have a label of their own.
const manyRegistries = 2 * registrylabel.Max

// node is a registry in which every metric has every value of its labels that so many pods and
// registries can give it, and histograms have observations of all lengths.
type node struct {
	pods, registries int
	podSeries        bool // --metrics-pod-labels
	trace            TraceOf
}

func (n node) registry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	metrics := NewMetrics(registry, n.trace)
	jsonlines.New(jsonlines.Config{Registerer: registry})
	for i := range n.pods {
		metrics.Observe(n.pod(i))
	}
	var starting []timeline.Timeline
	for i := range n.pods {
		starting = append(starting, n.starting(i))
	}
	registry.MustRegister(
		NewClockSkew(func() timeline.Skew { return timeline.Skew{Least: -time.Millisecond, Most: time.Millisecond} }),
		NewStarting(func() []timeline.Timeline { return starting }),
		livepull.NewCollector(func() livepull.Snapshot {
			return livepull.Snapshot{Now: after(time.Hour), Starting: starting}
		}),
	)
	if n.podSeries {
		registry.MustRegister(NewPodSeries(func() []timeline.Timeline { return starting }))
	}
	return registry
}

// pod is a settled start-up: the first pods try each registry with each outcome and each failure,
// and all of them every phase.
func (n node) pod(i int) timeline.Timeline {
	rng := rand.New(rand.NewPCG(1, uint64(i)))
	anyLength := func() time.Duration { // from 1 ms to 1000 s, each power of ten as likely
		return time.Duration(math.Pow(10, 6*rng.Float64()) * float64(time.Millisecond))
	}
	states := []timeline.State{timeline.StateReady, timeline.StateReady, timeline.StateReady, timeline.StateSucceeded,
		timeline.StateFailed, timeline.StateDeleted, timeline.StateGivenUp}
	t := timeline.Timeline{
		Namespace: "shop", Name: fmt.Sprintf("web-7d4b9c6f5-%05d", i), UID: fmt.Sprint("uid-", i),
		State: states[i%len(states)],
		Total: anyLength(), LostEvents: []string{"Pulling/app"}, Missing: []string{"scheduled"},
	}
	for milestone := timeline.MilestoneCreated; milestone <= lastMilestone; milestone++ {
		t.Conflicts = append(t.Conflicts, timeline.Conflict{Milestone: milestone})
	}
	at := after(0)
	for _, phase := range timeline.Phases() {
		end := at.Add(anyLength())
		t.Phases = append(t.Phases, timeline.Span{Phase: phase, StartAt: at, EndAt: end})
		if phase == timeline.PhaseContainerStart { // so that the service level indicator is known
			t.Containers = []timeline.ContainerReached{{Kind: timeline.KindMain, RunningAt: end}}
		}
		at = end
	}
	outcomes := imagepull.Outcomes()
	for k := range outcomes {
		pull := timeline.Pull{
			Registry: n.host(i), Outcome: outcomes[k], Timed: true, QueueTimed: true, Pull: anyLength(),
			Queue: anyLength(),
			Layers: []timeline.Layer{{Digest: fmt.Sprint(i, k), SizeBytes: 1 << 20, DownloadedAt: after(time.Second),
				UnpackedAt: after(2 * time.Second)}},
			Shared: []bool{false}, StartedAt: after(0), DownloadedAt: after(time.Second),
			FinishedAt: after(3 * time.Second),
			Confirmed:  n.host(i) != n.host(0), // one that is not has the last label
		}
		if pull.Outcome != imagepull.OutcomeFailed {
			t.Pulls = append(t.Pulls, pull)
			continue
		}
		for _, failure := range everyFailure {
			pull.Failure = failure
			t.Pulls = append(t.Pulls, pull)
		}
	}
	return t
}

// starting is a pod that waits for its image, in each phase in turn.
func (n node) starting(i int) timeline.Timeline {
	t := timeline.Timeline{
		Namespace: "shop", Name: fmt.Sprintf("web-7d4b9c6f5-%05d", i), UID: fmt.Sprint("uid-", i),
		State: timeline.StateStarting, Owner: timeline.Owner{Kind: "Deployment", Name: "web"},
		Pulls: []timeline.Pull{{Container: "app", Image: fmt.Sprint(n.host(i), "/web:", i), Registry: n.host(i),
			Outcome: imagepull.OutcomePulling, RequestedAt: after(time.Second)}},
	}
	if i == 0 {
		t.Pulls = append(t.Pulls,
			timeline.Pull{Container: "proxy", Registry: n.host(i), Outcome: imagepull.OutcomeFailed,
				Failure: imagepull.FailureDNS})
	}
	phases := timeline.Phases()
	t.Phases = []timeline.Span{{Phase: phases[i%len(phases)], StartAt: after(0), EndAt: after(time.Second)}}
	return t
}

// host is one of the registries, or none.
func (n node) host(i int) string {
	i %= n.registries + 1
	if i == n.registries {
		return ""
	}
	return fmt.Sprintf("registry-%d.eu-central-1.example.com:5000", i)
}

// documented are the metrics in docs/metrics.md.
func documented(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(podlapse_[a-z_]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		names[m[1]] = true
	}
	if len(names) < 40 {
		t.Fatalf("read only %d metrics in docs/metrics.md", len(names))
	}
	return names
}

// processSeries is slightly more than the Go runtime and the process have.
const processSeries = 30

// elsewhere are the metrics that other packages register with default flags, and how many series each has at most.
func elsewhere() map[string]int {
	return map[string]int{
		"podlapse_apiserver_received_bytes_total":            9, // resources and verbs
		"podlapse_apiserver_request_failures_total":          9,
		"podlapse_apiserver_requests_total":                  9,
		"podlapse_build_info":                                1,
		"podlapse_container_restarts_total":                  3 * 8, // kinds and podwatch.RestartReasons
		"podlapse_event_watch_open_seconds_total":            1,
		"podlapse_event_watch_waiting_pods":                  1,
		"podlapse_event_watches_open":                        1,
		"podlapse_event_watches_opened_total":                1,
		"podlapse_events_received_total":                     1,
		"podlapse_events_refused_total":                      3, // reasons
		"podlapse_events_used_total":                         1,
		"podlapse_evidence_reconstructed_total":              3,
		"podlapse_history_bytes":                             1,
		"podlapse_history_dropped_total":                     1,
		"podlapse_history_pods":                              1,
		"podlapse_runtime_questions_open":                    1,
		"podlapse_runtime_questions_total":                   3,
		"podlapse_runtime_store_served":                      4,
		"podlapse_source_last_observation_timestamp_seconds": 3,
		"podlapse_source_reconnects_total":                   3,
		"podlapse_source_up":                                 3,
		"podlapse_stream_disconnected_total":                 1,
		"podlapse_stream_events_total":                       1,
		"podlapse_stream_refused_total":                      1,
		"podlapse_stream_resets_total":                       1,
		"podlapse_stream_viewers":                            1,
	}
}

// TestScrapeIsWhole holds the node of these tests against the list of all metrics, so that none is left out.
func TestScrapeIsWhole(t *testing.T) {
	listed := documented(t)
	for name := range elsewhere() {
		if !listed[name] {
			t.Errorf("%s is not in docs/metrics.md", name)
		}
		delete(listed, name)
	}
	for name := range listed { // of flags that are off by default, and then cost nothing
		if strings.HasPrefix(name, "podlapse_annotation_") || strings.HasPrefix(name, "podlapse_pod_cache_") ||
			strings.HasSuffix(name, "_watch_delay_seconds") {
			delete(listed, name)
		}
	}
	delete(listed, "podlapse_state_dropped_total")         // of package state, with --state-dir
	delete(listed, "podlapse_web_dropped_total")           // of package web
	delete(listed, "podlapse_otlp_metrics_failures_total") // of package otlp, with an endpoint
	// of packages node and probe, with flags; their pages say how many
	maps.DeleteFunc(listed, func(name string, _ bool) bool {
		return strings.HasPrefix(name, "podlapse_node_") || strings.HasPrefix(name, "podlapse_addon") ||
			strings.HasPrefix(name, "podlapse_probe_")
	})
	registry := node{pods: 110, registries: manyRegistries, podSeries: true}.registry()
	for _, family := range gather(t, registry) {
		if strings.HasPrefix(family.GetName(), "podlapse_") && !listed[family.GetName()] {
			t.Errorf("%s is not in docs/metrics.md", family.GetName())
		}
		delete(listed, family.GetName())
	}
	for name := range listed {
		t.Errorf("%s has no series", name)
	}
	problems, err := testutil.GatherAndLint(registry)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

func gather(t testing.TB, registry *prometheus.Registry) []*dto.MetricFamily {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// seriesOf counts as a Prometheus does that scrapes text: every bucket, sum and count is a series.
func seriesOf(t *testing.T, registry *prometheus.Registry) (all int, of map[string]int) {
	t.Helper()
	of = map[string]int{}
	for _, family := range gather(t, registry) {
		var text bytes.Buffer
		if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text.String()) {
			if !strings.HasPrefix(line, "#") {
				all++
				of[family.GetName()]++
			}
		}
	}
	return all, of
}

func TestScrapeHasFewSeries(t *testing.T) {
	all, of := seriesOf(t, node{pods: 110, registries: manyRegistries}.registry())
	others := processSeries
	for _, series := range elsewhere() {
		others += series
	}
	t.Logf("%d series, %d of them of other packages", all+others, others)
	if all+others > maxSeries {
		t.Errorf("%d series, want at most %d: %v", all+others, maxSeries, of)
	}
	if more, _ := seriesOf(t, node{pods: 110, registries: 2 * manyRegistries}.registry()); more != all {
		t.Errorf("%d series with twice as many registries, want no more than %d", more, all)
	}
}

// formats are those that a Prometheus asks for.
var formats = map[string]string{
	"text":        "text/plain;version=0.0.4",
	"openmetrics": "application/openmetrics-text;version=1.0.0",
	"protobuf":    "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited",
}

// scrape asks as a Prometheus does, and returns how many bytes come.
func scrape(tb testing.TB, handler http.Handler, accept string) int {
	tb.Helper()
	request := httptest.NewRequestWithContext(tb.Context(), http.MethodGet, "/metrics", nil)
	request.Header.Set("Accept", accept)
	request.Header.Set("Accept-Encoding", "gzip")
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	mediaType, _, _ := strings.Cut(accept, ";")
	if answer.Code != http.StatusOK || answer.Header().Get("Content-Encoding") != "gzip" ||
		!strings.HasPrefix(answer.Header().Get("Content-Type"), mediaType) {
		tb.Fatalf("%d, %v", answer.Code, answer.Header())
	}
	return answer.Body.Len()
}

// busiest is a node of 500 pods from more registries than have a name, with every option on.
func busiest() http.Handler {
	n := node{pods: 500, registries: registrylabel.Max + 2, podSeries: true, trace: func(t timeline.Timeline) string {
		return fmt.Sprintf("%032x", rand.New(rand.NewPCG(7, uint64(len(t.UID)))).Uint64())
	}}
	return promhttp.HandlerFor(n.registry(), promhttp.HandlerOpts{EnableOpenMetrics: true})
}

func TestScrapeIsSmall(t *testing.T) {
	handler := busiest()
	for name, accept := range formats {
		got := scrape(t, handler, accept)
		t.Logf("%s: %d bytes", name, got)
		if got > maxGzipBytes {
			t.Errorf("%s: %d bytes, want at most %d", name, got, maxGzipBytes)
		}
	}
}

// BenchmarkScrape is of 500 pods: with default flags and several registries, and of the busiest node.
func BenchmarkScrape(b *testing.B) {
	usual := node{pods: 500, registries: manyRegistries}.registry()
	for of, handler := range map[string]http.Handler{
		"default": promhttp.HandlerFor(usual, promhttp.HandlerOpts{EnableOpenMetrics: true}), "busiest": busiest(),
	} {
		for name, accept := range formats {
			b.Run(of+"/"+name, func(b *testing.B) {
				bytes := 0
				for b.Loop() {
					bytes = scrape(b, handler, accept)
				}
				b.ReportMetric(float64(bytes), "gzip-B")
			})
		}
	}
}

// everyFailure is what a label can be of pulls that failed.
var everyFailure = []imagepull.Failure{imagepull.FailureNotFound, imagepull.FailureUnauthorized,
	imagepull.FailureForbidden, imagepull.FailureRateLimited, imagepull.FailureTimeout, imagepull.FailureDNS,
	imagepull.FailureConnectionRefused, imagepull.FailureTLS, imagepull.FailureNoSpace,
	imagepull.FailureNoMatchingPlatform, imagepull.FailureInvalidReference, imagepull.FailureSignature,
	imagepull.FailureCancelled, imagepull.FailureRegistryError, imagepull.FailureOther}
