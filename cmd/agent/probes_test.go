package main

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/internal/podwatchtest"
)

// probesFile writes a probes file with the API server and registries as targets.
func probesFile(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "probes.yaml")
	text := "probes: [{name: api, kind: apiserver, interval: 1s}]\nregistries: {top: 1, interval: 1s}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// invisibleParts lists packages that must have no visible effect by default.
var invisibleParts = []string{"podlapse/internal/node.", "podlapse/internal/probe."}

// tracesOfParts returns the effects of these packages on an agent: goroutines, metrics and requests.
func tracesOfParts(t *testing.T, a insideAgent, cluster *podwatchtest.Server) (goroutines int, seen []string) {
	t.Helper()
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for stack := range bytes.SplitSeq(stacks, []byte("\n\n")) {
		goroutines++
		for _, part := range invisibleParts {
			if bytes.Contains(stack, []byte(part)) {
				seen = append(seen, "goroutine of "+part)
			}
		}
	}
	families, err := a.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, prefix := range []string{"podlapse_node_", "podlapse_addon", "podlapse_probe_"} {
			if strings.HasPrefix(f.GetName(), prefix) {
				seen = append(seen, f.GetName())
			}
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetValue() == partNode || l.GetValue() == partPressure || l.GetValue() == "probes" ||
					l.GetValue() == "nodes" {
					seen = append(seen, f.GetName()+" of "+l.GetValue())
				}
			}
		}
	}
	for _, request := range cluster.Requests() {
		if strings.Contains(request, "/nodes") || strings.Contains(request, "/version") {
			seen = append(seen, "request "+request)
		}
	}
	slices.Sort(seen)
	return goroutines, slices.Compact(seen)
}

// TestDisabledFeaturesCostNothing compares a default agent with an agent that has every feature on.
func TestDisabledFeaturesCostNothing(t *testing.T) {
	off := podwatchtest.Start(t)
	a := startInside(t, off, "--addons=kube-system", "--node-warm-up=1m") // these flags alone enable nothing
	// When the pod watch is open, all parts have started.
	a.awaitMetric(t, "podlapse_source_up", 1)
	goroutines, seen := tracesOfParts(t, a, off)
	if len(seen) > 0 {
		t.Errorf("with every feature off there is %q", seen)
	}
	a.stop()

	on := podwatchtest.Start(t)
	on.Put(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a"}})
	b := startInside(t, on, "--node-health", "--pressure", "--probes-file="+probesFile(t))
	b.awaitMetric(t, "podlapse_node_availability", 1) // this metric exists only after the warm-up
	b.awaitMetric(t, "podlapse_probe_up", 1)
	more, seen := tracesOfParts(t, b, on)
	for _, part := range invisibleParts {
		if !slices.Contains(seen, "goroutine of "+part) {
			t.Errorf("%s does not run with every feature on, so the test proves nothing; %q", part, seen)
		}
	}
	if !slices.Contains(seen, "podlapse_node_available") ||
		!slices.Contains(seen, "request list /api/v1/nodes metadata.name=node-a") || more <= goroutines {
		t.Errorf("every feature on: %d goroutines, off: %d, and %q", more, goroutines, seen)
	}
}

func TestCheckReportsNodeAndProbes(t *testing.T) {
	cluster := podwatchtest.Start(t)
	check := func(flags ...string) string {
		var out, errs bytes.Buffer
		runAsAgent(t.Context(),
			append([]string{"check", "--node-name=node-a", "--kubeconfig=" + agentstest.Kubeconfig(t, cluster.URL()),
				"--cri-endpoint=off",
				"--node-health", "--probes-file=" + probesFile(t)}, flags...), func(string) string { return "" }, &out,
			&errs)
		return out.String() + errs.String()
	}
	for _, want := range []string{"ok       node           can list and watch the object of node-a",
		"ok       probes         1 configured, and up to 1 registries"} {
		if got := check(); !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
	if got := check("--addons=:tier=node"); !strings.Contains(got, "can add pods to the node's add-ons") {
		t.Errorf("got add-ons of all namespaces:\n%s", got)
	}
	cluster.Authorize(func(a podwatchtest.Attempt) bool { return a.Resource != "nodes" })
	if got := check(); !strings.Contains(got, "failed   node ") ||
		!strings.Contains(got, "allow the ServiceAccount to list and watch nodes") {
		t.Errorf("refused:\n%s", got)
	}
	cluster.Refuse(http.StatusInternalServerError, metav1.StatusReasonInternalError, "no")
	if got := check(); strings.Contains(got, "allow the ServiceAccount to list and watch nodes") {
		t.Errorf("a failure without RBAC got the RBAC remedy:\n%s", got)
	}
}
