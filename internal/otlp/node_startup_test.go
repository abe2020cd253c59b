package otlp

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// bootedNode is the start-up of a node that waits twice for the same pod of a DaemonSet, because the pod's container
// does its own work between the two waits. The critical path excludes two other pods of DaemonSets.
func bootedNode() api.NodeStartUpRecord {
	at := func(seconds float64) api.Instant {
		return api.InstantOf(after(time.Duration(seconds * float64(time.Second))))
	}
	phase := func(name string, cause timeline.Cause, from, to float64) api.NodePhaseRecord {
		return api.NodePhaseRecord{Phase: name, Cause: cause, StartAt: at(from), EndAt: at(to),
			Length: api.Seconds(at(to).Sub(at(from).Time)), Error: api.Seconds(100 * ms),
			Sources: []string{"node_watch"}}
	}
	step := func(name, pod string, step timeline.Phase, cause timeline.Cause, from, to float64) api.NodePhaseRecord {
		p := phase(name, cause, from, to)
		p.Pod, p.Step, p.Sources = pod, step, []string{"pods"}
		return p
	}
	taint := func(p api.NodePhaseRecord) api.NodePhaseRecord {
		p.Taint, p.Owner = "node.cilium.io/agent-not-ready", "Cilium"
		return p
	}
	const cilium = "kube-system/cilium-5xk2p"
	network := phase("network_plugin", timeline.CauseNetwork, 19, 20)
	network.Owner = "azure-cns and cilium" // not the owner of a taint
	unknown := phase("unattributed", timeline.CauseUnknown, 30, 31)
	unknown.Candidates = []string{"taint", "awaiting_pod", "workload"}
	return api.NodeStartUpRecord{
		ID: "boot-1", Node: "node-a", State: "ready", BootedAt: at(0), SettledAt: at(37.5),
		Total: api.Seconds(37500 * ms), TotalError: api.Seconds(time.Second),
		Verdict: "37.5 s from boot to the first ready workload",
		Phases: []api.NodePhaseRecord{
			phase("machine", "machine", 0, 19),
			network,
			taint(step("daemonset", cilium, timeline.PhasePull, timeline.CauseRegistry, 20, 25)),
			taint(step("daemonset", cilium, timeline.PhaseKubeletSync, timeline.CauseKubelet, 25, 26)),
			taint(phase("taint", "taint_owner", 26, 28)),
			taint(step("daemonset", cilium, timeline.PhaseKubeletSync, timeline.CauseKubelet, 28, 30)),
			unknown,
			step("workload", "shop/web", timeline.PhasePull, timeline.CauseRegistry, 31, 37),
			step("workload", "shop/web", timeline.PhasePull, timeline.CauseRegistry, 37, 37.5),
		},
		NotReady: []api.NotReadyRecord{{SeenAt: at(20), Message: "cni plugin not \xff initialized"},
			{SeenAt: at(26), Condition: "NetworkUnavailable", Message: "Node created without a route"}},
		DaemonSets: []api.DaemonSetPodRecord{
			{DaemonSet: "cilium", Namespace: "kube-system", Name: "cilium-5xk2p", UID: "c1", State: timeline.StateReady,
				Critical: true, CreatedAt: at(19.5), SettledAt: at(30), Total: api.Seconds(10500 * ms),
				Verdict: "10.5 s"},
			{DaemonSet: "logs", Namespace: "kube-system", Name: "logs-1", UID: "l1", State: timeline.StateStarting,
				CreatedAt: at(30)},
			{DaemonSet: "late", Namespace: "kube-system", Name: "late-1", UID: "x1", State: timeline.StateStarting,
				CreatedAt: at(38)},
		},
		Workload: &api.FirstWorkloadRecord{Namespace: "shop", Name: "web", UID: "w1", CreatedAt: at(31)},
		Missing:  []string{"kubelet_started"},
	}
}

// sendNode sends the start-ups of nodes to a collector, and returns the spans.
func sendNode(t *testing.T, records ...api.NodeStartUpRecord) []*tracepb.Span {
	t.Helper()
	var collector receiver
	collector.overHTTP(t)
	pods := 0
	sink := runWith(t, func(c *TracesConfig) { c.Done = func(timeline.Timeline) { pods++ } })
	for _, r := range records {
		sink.OfferNodeStartUp(r)
	}
	sink.wait(t, float64(len(records)))
	sink.mustCount(t, float64(len(records)), 0)
	if pods > 0 {
		t.Errorf("%d start-ups of pods are done", pods)
	}
	return collector.spans()
}

func TestTraceOfNodeStartUp(t *testing.T) {
	spans := sendNode(t, bootedNode())
	mustBe(t, "testdata/node-startup.trace", tree(spans))
	seen := map[string]bool{}
	for _, s := range spans {
		if seen[string(s.SpanId)] {
			t.Errorf("%s has the ID of another span", s.Name)
		}
		seen[string(s.SpanId)] = true
	}
}

// The phases are all children of the root span, and cover the start-up without gaps.
func TestNodePhasesCoverTheStartUp(t *testing.T) {
	at := createdAt
	for _, s := range nodePhasesOf(bootedNode()) {
		if s.parent != rootKey {
			continue
		}
		if !s.start.Equal(at) {
			t.Errorf("%s starts at %s, want %s", s.name, s.start, at)
		}
		at = s.end
	}
	if want := nodeRootOf(bootedNode()).end; !at.Equal(want) {
		t.Errorf("the phases end at %s, want %s", at, want)
	}
}

// The trace ID depends only on the node and the boot ID. A restarted agent, which knows less, sends spans of the same
// trace and marks them.
func TestNodeTraceIDIsDeterministic(t *testing.T) {
	again, rebooted, other := bootedNode(), bootedNode(), bootedNode()
	again.Reconstructed, again.Phases = true, again.Phases[:1]
	rebooted.ID = "boot-2"
	other.Node = "node-b"
	sum := sha256.Sum256([]byte("podlapse node node-a/boot-1"))
	own := hex.EncodeToString(sum[:16])
	var roots []string
	for _, s := range sendNode(t, bootedNode(), again, rebooted, other) {
		if len(s.ParentSpanId) == 0 {
			roots = append(roots, hex.EncodeToString(s.TraceId)+"/"+hex.EncodeToString(s.SpanId))
		}
	}
	if len(roots) != 4 || !strings.HasPrefix(roots[0], own+"/") || roots[1] != roots[0] ||
		strings.HasPrefix(roots[2], own) || strings.HasPrefix(roots[3], own) {
		t.Errorf("roots %q, the first two must be in %s", roots, own)
	}
	for _, s := range nodeStartUpOf(again) {
		if !has(s, keyReconstructed) {
			t.Errorf("%s is not marked", s.name)
		}
	}
	unknown := bootedNode()
	unknown.ID = ""
	if got, want := nodeStartUpID(unknown), "node-a/1772366400"; got != want {
		t.Errorf("without a boot ID: %s, want %s", got, want)
	}
}

func TestTraceOfGivenUpNode(t *testing.T) {
	r := api.NodeStartUpRecord{ID: "boot-1", Node: "node-a", State: "given_up", BootedAt: api.InstantOf(createdAt),
		Total: api.Seconds(time.Hour)}
	root := nodeStartUpOf(r)[0]
	if root.failure == "" || !has(root, "error.type") || !root.end.Equal(after(time.Hour)) {
		t.Errorf("%+v", root)
	}
}

// The pods of a rollout share one trace. The start-up of the node does not join this trace.
func TestNodeTraceBesideRollouts(t *testing.T) {
	var collector receiver
	collector.overHTTP(t)
	sink := runWith(t, func(c *TracesConfig) { c.Rollouts = true })
	sink.OfferNodeStartUp(bootedNode())
	sink.Offer(coldStart())
	sink.wait(t, 2)
	traces := map[string]string{}
	for _, s := range collector.spans() {
		if len(s.ParentSpanId) == 0 {
			traces[s.Name] = hex.EncodeToString(s.TraceId)
		}
	}
	names := slices.Sorted(maps.Keys(traces))
	if !slices.Equal(names, []string{"node start-up", "rollout shop/Deployment/web"}) ||
		traces[names[0]] == traces[names[1]] {
		t.Errorf("traces %v", traces)
	}
}

func TestNodeTraceIsBounded(t *testing.T) {
	r := bootedNode()
	for range 2 * maxSpans {
		r.Phases = append(r.Phases, r.Phases[2], r.Phases[4])
	}
	if spans := nodeStartUpOf(r); len(spans) != maxSpans || !has(spans[0], keySpansLeftOut) {
		t.Errorf("%d spans, %v", len(spans), spans[0].attributes)
	}
}
