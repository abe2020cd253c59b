package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metricsv1 "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracesv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/protobuf/proto"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/internal/cli"
	"github.com/podlapse/podlapse/internal/critest"
	"github.com/podlapse/podlapse/internal/podwatchtest"
)

// collector receives the traces and metrics that an agent sends over OTLP.
type collector struct {
	mu      sync.Mutex
	spans   []*tracepb.Span
	metrics map[string]bool
}

// startCollector starts a collector, and sets the OTLP environment variables of agents to its address.
func startCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{metrics: map[string]bool{}}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "50")
	return c
}

func (c *collector) ServeHTTP(_ http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	if request.URL.Path == "/v1/traces" {
		var traces tracesv1.ExportTraceServiceRequest
		_ = proto.Unmarshal(body, &traces)
		for _, resource := range traces.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
		return
	}
	var metrics metricsv1.ExportMetricsServiceRequest
	_ = proto.Unmarshal(body, &metrics)
	for _, resource := range metrics.ResourceMetrics {
		for _, scope := range resource.ScopeMetrics {
			for _, metric := range scope.Metrics {
				c.metrics[metric.Name] = true
			}
		}
	}
}

// awaitRootSpan waits for the root span of a start-up, and removes all spans received so far.
func (c *collector) awaitRootSpan(t *testing.T) *tracepb.Span {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		c.mu.Lock()
		spans := c.spans
		c.spans = nil
		c.mu.Unlock()
		for _, s := range spans {
			if len(s.ParentSpanId) == 0 {
				return s
			}
		}
	}
	t.Fatal("received no trace")
	return nil
}

// TestAgentSendsTracesAndMetrics starts two agents, one after the other. The second agent reports the same start-up and
// must use the same IDs.
func TestAgentSendsTracesAndMetrics(t *testing.T) {
	sent := startCollector(t)
	cluster := podwatchtest.Start(t)
	createdAt := time.Now().Add(-3 * time.Second)
	pod := web0(createdAt)
	var first *tracepb.Span
	for range 2 {
		cluster.Put(pod)
		agent := start(t, "--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", "off", "--events",
			"off")
		agent.pollUntil("/api/v1/pods/shop/web-0", `"state":"starting"`)
		cluster.Put(readyPod(pod, time.Now()))
		root := sent.awaitRootSpan(t)
		if root.Name != "pod startup shop/web-0" ||
			time.Unix(0, int64(root.StartTimeUnixNano)).Sub(createdAt).Abs() > time.Second {
			t.Errorf("got %s from %s", root.Name, time.Unix(0, int64(root.StartTimeUnixNano)))
		}
		agent.pollUntil("/readyz?verbose", "[+]otlp ok")
		agent.pollUntil("/readyz?verbose", "[+]otlp_metrics ok")
		agent.pollUntil("/metrics", `podlapse_sink_sent_total{sink="otlp"} 1`)
		if _, metrics := agent.get("/metrics"); strings.Contains(metrics, `podlapse_source_up{source="otlp`) {
			t.Error("a sink is counted as a source")
		}
		agent.mustEndCleanly()
		if first != nil && (!bytes.Equal(first.TraceId, root.TraceId) || !bytes.Equal(first.SpanId, root.SpanId)) {
			t.Errorf("trace %x/%x, then %x/%x", first.TraceId, first.SpanId, root.TraceId, root.SpanId)
		}
		first = root
	}
	sent.mu.Lock()
	defer sent.mu.Unlock()
	if !sent.metrics["podlapse_pod_startup_duration_seconds"] || !sent.metrics["go_goroutines"] {
		t.Errorf("metrics %v", sent.metrics)
	}
}

// The agent sends the trace of the node's start-up, even if it writes no records.
func TestAgentSendsTraceOfNodeStartUp(t *testing.T) {
	sent := startCollector(t)
	a, _ := startBooted(t, io.Discard, "--records=none")
	names := map[string]int{}
	for deadline := time.Now().Add(time.Minute); names["node start-up"] == 0 && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
		sent.mu.Lock()
		for _, s := range sent.spans {
			names[s.Name]++
		}
		sent.spans = nil
		sent.mu.Unlock()
	}
	a.stop()
	if names["node start-up"] != 1 || names["machine"]+names["unattributed"] == 0 || names["workload"] == 0 {
		t.Errorf("received %v", names)
	}
}

// An agent with an unreachable collector keeps running and stops in time.
func TestAgentWithUnreachableCollector(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+agentstest.ClosedAddress(t))
	cluster := podwatchtest.Start(t)
	pod := web0(time.Now().Add(-3 * time.Second))
	cluster.Put(pod)
	agent := start(t, "--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", "off", "--events",
		"off")
	agent.pollUntil("/api/v1/pods/shop/web-0", `"state":"starting"`)
	cluster.Put(readyPod(pod, time.Now()))
	if line, err := agent.records.ReadString('\n'); err != nil || !strings.Contains(line, `"state":"ready"`) {
		t.Errorf("record %q, %v", line, err)
	}
	agent.mustEndCleanly()
}

// The agent sends traces while standard output is full.
func TestStuckReaderDelaysNoTrace(t *testing.T) {
	sent := startCollector(t)
	agent, cluster := startFull(t)
	agent.pollUntil("/api/v1/pods/shop/web-0", `"state":"starting"`)
	cluster.Delete(web0(time.Now()))
	if root := sent.awaitRootSpan(t); root.Name != "pod startup shop/web-0" {
		t.Errorf("got %s", root.Name)
	}
	agent.pollUntil("/metrics", `podlapse_sink_sent_total{sink="otlp"} 1`)
	agent.pollUntil("/metrics", `podlapse_sink_sent_total{sink="records"} 0`)
	agent.signal(syscall.SIGTERM)
	agent.wait()
}

// The agent stops in time while its reader, the collector, the API server and the runtime are all stuck.
func TestAgentStopsInTimeWhenEverythingIsStuck(t *testing.T) {
	deaf, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+deaf.Addr().String())
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "50")
	runtime := critest.Start(t, filepath.Join(t.TempDir(), "cri.sock"), critest.Options{})
	agent, cluster := startFull(t, "--cri-endpoint", runtime.Endpoint())
	agent.pollUntil("/api/v1/pods/shop/web-0", `"state":"starting"`)
	runtime.Fault(critest.Hang)
	cluster.Delete(web0(time.Now()))
	agent.pollUntil("/api/v1/pods/shop/web-0", `"state":"deleted"`)
	cluster.Hang()
	began := time.Now()
	agent.signal(syscall.SIGTERM)
	if state, took := agent.wait(), time.Since(began); state.ExitCode() != cli.ExitFailed || took > 5*time.Second {
		t.Errorf("exited with %s after %s, want a write error within 5 s", state, took)
	}
}

func TestAgentRefusesInvalidOTLPVariables(t *testing.T) {
	variables := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4317"}
	var stderr bytes.Buffer
	code := runAsAgent(t.Context(), []string{"run", "--node-name", "node-a"},
		func(name string) string { return variables[name] }, io.Discard, &stderr)
	if code != cli.ExitUsage ||
		strings.Count(stderr.String(), `OTEL_EXPORTER_OTLP_ENDPOINT: invalid endpoint "collector:4317"`) != 1 {
		t.Errorf("exit code %d, %s", code, &stderr)
	}
}

// TestTraceFlagsWithoutEndpointWarn starts the agent anyway: an endpoint can be missing only for some nodes.
func TestTraceFlagsWithoutEndpointWarn(t *testing.T) {
	for want, c := range map[int]config{0: {}, 1: {rolloutTraces: true, lifeTraces: true}} {
		core, logs := observer.New(zap.WarnLevel)
		traces, err := newTraces(t.Context(), deps{config: c, logger: zap.New(core)}, nil)
		if traces != nil || err != nil || logs.FilterMessageSnippet("set OTEL_EXPORTER_OTLP_ENDPOINT").Len() != want {
			t.Errorf("%v, %v, %d warnings, want %d", traces, err, logs.Len(), want)
		}
	}
}

// Without an endpoint, OTLP has no goroutine, no metric and no part in /readyz.
func TestAgentWithoutCollector(t *testing.T) {
	traces, err := newTraces(t.Context(), deps{}, nil)
	push, err2 := newMetricsPush(t.Context(), deps{})
	if traces != nil || push != nil || err != nil || err2 != nil {
		t.Errorf("made %v and %v, %v, %v", traces, push, err, err2)
	}
	cluster := podwatchtest.Start(t)
	agent := start(t, "--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", "off", "--events",
		"off")
	agent.pollUntil("/readyz", "ok")
	if _, health := agent.get("/readyz?verbose"); strings.Contains(health, "otlp") {
		t.Errorf("a disabled sink appears in\n%s", health)
	}
	if _, metrics := agent.get("/metrics"); strings.Contains(metrics, `{sink="otlp"}`) {
		t.Error("a disabled sink has a metric")
	}
	agent.mustEndCleanly()
}
