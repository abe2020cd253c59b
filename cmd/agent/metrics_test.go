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
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/pkg/podwatch/podwatchtest"
)

var update = flag.Bool("update", false, "write docs/metrics.md anew")

// described is a metric as its description says.
type described struct{ name, help, labels string }

// descriptionOf reads what prometheus.Desc prints, which is all that it tells.
var descriptionOf = regexp.MustCompile(`^Desc\{fqName: "([^"]*)", help: "((?:[^"\\]|\\.)*)", (?:unit: "[^"]*", )?constLabels: \{([^}]*)\}, variableLabels: \{([^}]*)\}\}$`)

// TestMetricsDocument holds docs/metrics.md against what an agent with everything switched on registers.
func TestMetricsDocument(t *testing.T) {
	registry := everything(t)
	var all []described
	descs := make(chan *prometheus.Desc)
	go func() { registry.Describe(descs); close(descs) }()
	for desc := range descs {
		m := descriptionOf.FindStringSubmatch(desc.String())
		if m == nil {
			t.Fatalf("cannot read %s", desc)
		}
		if !strings.HasPrefix(m[1], "podlapse_") {
			continue // of the Go runtime and the process
		}
		labels := strings.Split(m[4], ",")
		for _, constant := range strings.Split(m[3], ",") {
			name, _, _ := strings.Cut(constant, "=")
			labels = append(labels, name)
		}
		labels = slices.DeleteFunc(labels, func(l string) bool { return l == "" })
		d := described{m[1], strings.ReplaceAll(m[2], `\"`, `"`), strings.Join(labels, ", ")}
		if !slices.Contains(all, d) { // one of a family with several values of a constant label
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b described) int { return cmp.Compare(a.name, b.name) })
	agreeOnTypes(t, registry)

	var doc strings.Builder
	doc.WriteString("# Metrics\n\nWhat `/metrics` shows, of this node alone. The list is made from the agent's own registry, with every option on " +
		"(`go test ./cmd/agent -run MetricsDocument -update`). Beside these there are those of the Go runtime and of the process.\n\n" +
		"Histograms have classic buckets and native ones; with traces on, their exemplars name the trace of a start-up (`trace_id`). " +
		"Labels have closed sets of values, `registry` at most 16 and then `other`.\n\n| metric | type | labels | |\n|---|---|---|---|\n")
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
		t.Errorf("docs/metrics.md is not what the agent registers (%v): go test ./cmd/agent -run MetricsDocument -update", err)
	}
}

// everything is the registry of an agent that has every part.
func everything(t *testing.T) *prometheus.Registry {
	t.Helper()
	cluster := podwatchtest.Start(t)
	var c config
	args := []string{"--node-name=node-a", "--listen-address=127.0.0.1:0", "--kubeconfig=" + kubeconfig(t, cluster.URL()),
		"--state-dir=" + t.TempDir(), "--record-observations=" + filepath.Join(t.TempDir(), "o.jsonl"), "--metrics-pod-labels=on",
		"--cri-endpoint=unix://" + filepath.Join(t.TempDir(), "never.sock")}
	if _, err := settle(c.settings(), args, func(string) string { return "" }, 0); err != nil {
		t.Fatal(err)
	}
	api, err := newAPIServer(c)
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, c, api, registry, zap.NewNop(), io.Discard) }()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		families, err := registry.Gather()
		watching := slices.ContainsFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == "podlapse_apiserver_requests_total" })
		if err == nil && watching { // registered last, and everything runs
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the agent does not start")
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	return registry
}

// typeOf goes by the name, which says it.
func typeOf(name string) string {
	switch {
	case strings.HasSuffix(name, "_total"):
		return "counter"
	case strings.HasSuffix(name, "_duration_seconds"), name == "podlapse_image_pull_queue_seconds":
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
			t.Errorf("%s is a %s, by its name it is a %s", f.GetName(), f.GetType(), typeOf(f.GetName()))
		}
	}
}
