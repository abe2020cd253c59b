package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/internal/otlp"
	"github.com/podlapse/podlapse/internal/podwatchtest"
	"github.com/podlapse/podlapse/pkg/timeline"
)

var update = flag.Bool("update", false, "write docs/metrics.md anew")

type described struct{ name, help, labels string }

// descriptionOf parses the text of a prometheus.Desc, because prometheus.Desc exports no fields.
var descriptionOf = regexp.MustCompile(
	`^Desc\{fqName: "([^"]*)", help: "((?:[^"\\]|\\.)*)", (?:unit: "[^"]*", )?constLabels: \{([^}]*)\}, ` +
		`variableLabels: \{([^}]*)\}\}$`,
)

// descriptions returns the agent's own metrics in a registry, sorted by name. Metrics that differ only in the
// value of a constant label appear once.
func descriptions(t *testing.T, registry *prometheus.Registry) (all []described) {
	t.Helper()
	descs := make(chan *prometheus.Desc)
	go func() { registry.Describe(descs); close(descs) }()
	for desc := range descs {
		m := descriptionOf.FindStringSubmatch(desc.String())
		if m == nil {
			t.Fatalf("cannot read %s", desc)
		}
		if !strings.HasPrefix(m[1], "podlapse_") {
			continue // a metric of the Go runtime or of the process
		}
		labels := strings.Split(m[4], ",")
		for _, constant := range strings.Split(m[3], ",") {
			name, _, _ := strings.Cut(constant, "=")
			labels = append(labels, name)
		}
		labels = slices.DeleteFunc(labels, func(l string) bool { return l == "" })
		d := described{m[1], strings.ReplaceAll(m[2], `\"`, `"`), strings.Join(labels, ", ")}
		if !slices.Contains(all, d) {
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b described) int { return cmp.Compare(a.name, b.name) })
	return all
}

// TestMetricsDocument compares docs/metrics.md with the metrics of an agent with every option on.
func TestMetricsDocument(t *testing.T) {
	registry := fullRegistry(t)
	all := descriptions(t, registry)
	agreeOnTypes(t, registry)

	var doc strings.Builder
	doc.WriteString(
		"# Metrics\n\n" +
			"`/metrics` contains the metrics of one node. `/metrics` also contains metrics of the process and of the " +
			"Go runtime, except the details of the Go allocator (`go_memstats_…`). This page is generated from the " +
			"metrics of an agent with every option on (`go test ./cmd/agent -run MetricsDocument -update`).\n\n" +
			"Histograms have classic and native buckets, with two exceptions: the histograms of phases and of " +
			"unpacking have only native buckets. If Prometheus does not store native histograms, it stores only the " +
			"count and the sum of the histograms of phases and of unpacking. If the agent sends traces, the " +
			"exemplars of histograms contain the trace ID of a start-up (`trace_id`).\n\n" +
			"Each label has a limited set of values. If the agent knows the label values when it starts, the " +
			"agent creates the series with the value zero. The values of the label `registry` are the names of up to " +
			"[six registries](pulls.md#which-registries-have-a-label), `other` for all other registries, and " +
			"`unknown`. The agent can stop using a registry's name as a label value. The agent then removes the " +
			"counters and histograms of this registry, and counts further pulls from this registry under " +
			"`other`.\n\n" +
			"| setting | series |\n|---|---|\n" +
			"| default flags, a node with 110 pods | at most " + strconv.Itoa(maxSeries) +
			", including every classic bucket. While pulls fail, each registry and reason adds one series, and each " +
			"group of waiting workloads adds one more |\n" +
			"| `--metrics-pod-labels` | one more series for each pod, for at most 250 pods. While one of these " +
			"pods is starting, it has a second series |\n" +
			"| `--metrics-workloads` | at most " + strconv.Itoa(workloadSeries()) + " series for each workload, and " +
			"as many for the workload `other` |\n" +
			"| `--node-health` | see [node.md](node.md#series) |\n" +
			"| `--node-startup` | 12 series after the first workload pod of the node was ready |\n" +
			"| `--probes-file` | see [probes.md](probes.md#series) |\n\n" +
			"With 500 pods and every option on, a compressed scrape has at most " + strconv.Itoa(maxGzipBytes>>10) +
			" KiB (`make bench` measures this size).\n\n" +
			"| metric | type | labels | meaning |\n|---|---|---|---|\n",
	)
	for _, d := range all {
		fmt.Fprintf(&doc, "| `%s` | %s | %s | %s |\n", d.name, typeOf(d.name), d.labels, d.help)
	}
	const path = "../../docs/metrics.md"
	if *update {
		if err := os.WriteFile(path, []byte(doc.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != doc.String() {
		t.Errorf(
			"docs/metrics.md does not match the agent's metrics (%v): go test ./cmd/agent -run MetricsDocument -update",
			err,
		)
	}
}

// workloadSeries returns the maximum number of series of one workload: two counters, and one counter for each cause.
func workloadSeries() int {
	causes := map[timeline.Cause]bool{}
	for _, phase := range timeline.Phases() {
		causes[timeline.CauseOf(phase)] = true
	}
	return 2 + len(causes)
}

// TestMetricsAreClean lints the metrics of an agent with every option on.
func TestMetricsAreClean(t *testing.T) {
	problems, err := testutil.GatherAndLint(fullRegistry(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		if strings.HasPrefix(problem.Metric, "podlapse_") {
			t.Errorf("%s: %s", problem.Metric, problem.Text)
		}
	}
}

// fullRegistry returns the registry of an agent that ran with every option on, and has stopped.
func fullRegistry(t *testing.T) *prometheus.Registry {
	t.Helper()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+agentstest.ClosedAddress(t))
	a := startInside(t, podwatchtest.Start(t), "--state-dir="+t.TempDir(),
		"--record-observations="+filepath.Join(t.TempDir(), "o.jsonl"),
		"--metrics-pod-labels=on", "--metrics-workloads=50", "--annotate=on", "--termination=on", "--rollout-traces=on",
		"--life-traces=on",
		"--verify-interval=10m", "--watch-delays=on",
		"--node-health", "--node-startup", "--pressure", "--probes-file="+probesFile(t),
		"--cri-endpoint=unix://"+filepath.Join(t.TempDir(), "never.sock"))
	a.stop()
	return a.registry
}

// insideAgent is an agent in the test's own process.
type insideAgent struct {
	registry *prometheus.Registry
	stop     func()
}

// startInside starts an agent and waits until it watches pods.
func startInside(t testing.TB, cluster *podwatchtest.Server, flags ...string) insideAgent {
	t.Helper()
	return startInsideWriting(t, cluster, io.Discard, flags...)
}

// startInsideWriting starts an agent like startInside. The agent writes its records to the given writer.
func startInsideWriting(t testing.TB, cluster *podwatchtest.Server, records io.Writer, flags ...string) insideAgent {
	t.Helper()
	var c config
	args := append([]string{"--node-name=node-a", "--listen-address=127.0.0.1:0",
		"--kubeconfig=" + agentstest.Kubeconfig(t, cluster.URL())}, flags...)
	if _, err := c.flagTable().Parse(args, func(string) string { return "" }, 0); err != nil {
		t.Fatal(err)
	}
	var err error
	if c.otlp, err = otlp.FromEnvironment(os.Getenv); err != nil {
		t.Fatal(err)
	}
	api, err := newAPIServer(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	a := insideAgent{registry: prometheus.NewRegistry(), stop: sync.OnceFunc(func() {
		cancel()
		// On a busy machine, a sink can exceed its limit of 1 s. The tests in stop_test.go require a quick stop.
		if err := <-ended; err != nil && !strings.Contains(err.Error(), "did not stop within") {
			t.Error(err)
		}
	})}
	t.Cleanup(a.stop)
	go func() {
		ended <- serve(ctx, c, api, a.registry, zap.NewNop(), records)
	}()
	a.awaitMetric(t, "podlapse_apiserver_requests_total", 1) // the agent registers this metric last, when all parts run
	return a
}

// awaitMetric scrapes until the sum of a metric's series has at least the given value.
func (a insideAgent) awaitMetric(t testing.TB, name string, want float64) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		families, err := a.registry.Gather()
		sum := 0.0
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if f.GetName() == name {
					sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
				}
			}
		}
		if err == nil && sum >= want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s stayed at %v, want %v; %v", name, sum, want, err)
		}
	}
}

// typeOf derives a metric's type from its name.
func typeOf(name string) string {
	switch {
	case strings.HasSuffix(name, "_total"):
		return "counter"
	case strings.HasSuffix(name, "_duration_seconds"), strings.HasSuffix(name, "_delay_seconds"),
		name == "podlapse_image_pull_queue_seconds":
		return "histogram"
	}
	return "gauge"
}

func agreeOnTypes(t *testing.T, registry *prometheus.Registry) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "podlapse_") && strings.ToLower(f.GetType().String()) != typeOf(f.GetName()) {
			t.Errorf("%s is a %s, but its name is that of a %s", f.GetName(), f.GetType(), typeOf(f.GetName()))
		}
	}
}
