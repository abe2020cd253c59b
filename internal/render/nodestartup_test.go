package render

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
)

// TestNodeStartUpOfImpossibleDurations uses durations that no start-up can have. A server can send any number.
func TestNodeStartUpOfImpossibleDurations(t *testing.T) {
	at := api.InstantOf(time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)) // the boot is long before, at the zero time
	for _, length := range []api.Seconds{math.MinInt64, -1, math.MaxInt64} {
		record := api.NodeStartUpRecord{Node: "worker-1", Total: length, TotalError: length,
			Phases: []api.NodePhaseRecord{{Phase: "machine", Length: length, Error: length}},
			NotReady: []api.NotReadyRecord{{SeenAt: at, Message: "no network"},
				{SeenAt: at, Condition: "NetworkUnavailable", Message: "no route"}},
			Taints:     []api.TaintRecord{{Key: "a", RemovedAt: at}},
			DaemonSets: []api.DaemonSetPodRecord{{Namespace: "a", Name: "b", Total: length, TotalError: length}}}
		text := NodeStartUp(record, page110)
		if strings.Contains(text, "922337") || strings.Contains(text, "-0.000") || strings.Contains(text, "±") {
			t.Errorf("%d:\n%s", length, text)
		}
		for _, want := range []string{"seen after -: no network", "seen after -: NetworkUnavailable: no route"} {
			if !strings.Contains(text, want) {
				t.Errorf("%d: no %q in\n%s", length, want, text)
			}
		}
	}
}

// TestNodePhaseNames checks which object the column OF names.
func TestNodePhaseNames(t *testing.T) {
	for want, phase := range map[string]api.NodePhaseRecord{
		"machine ":                            {Phase: "machine"},
		"network_plugin azure-cns and cilium": {Phase: "network_plugin", Owner: "azure-cns and cilium"},
		"taint node.cilium.io/agent-not-ready": {Phase: "taint", Taint: "node.cilium.io/agent-not-ready",
			Owner: "Cilium"},
		"pull kube-system/cilium-5xk2p": {Phase: "daemonset", Step: "pull", Pod: "kube-system/cilium-5xk2p",
			Taint: "node.cilium.io/agent-not-ready", Owner: "Cilium"},
		"unattributed taint or awaiting_pod": {Phase: "unattributed", Candidates: []string{"taint", "awaiting_pod"}},
	} {
		if name, of := nodePhaseNames(phase); name+" "+of != want {
			t.Errorf("got %q, want %q", name+" "+of, want)
		}
	}
}
