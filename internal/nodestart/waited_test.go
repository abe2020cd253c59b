package nodestart

import (
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestWaitedDuring uses a node that booted at second 41, registered at second 45 and could run workload pods at second
// 62.
func TestWaitedDuring(t *testing.T) {
	at := func(second int) api.Instant { return api.InstantOf(time.Unix(int64(second), 0).UTC()) }
	node := api.NodeStartUpRecord{Node: "node-7", BootedAt: at(41),
		Milestones: []api.NodeMilestoneRecord{{Milestone: "registered", Earliest: at(45), Latest: at(45)}},
		Phases: []api.NodePhaseRecord{
			{Phase: string(PhaseMachine), StartAt: at(41), EndAt: at(45)},
			{Phase: string(PhaseNetworkPlugin), StartAt: at(45), EndAt: at(57)},
			{Phase: string(PhaseTaint), Taint: "node.cilium.io/agent-not-ready", Owner: "Cilium", StartAt: at(57),
				EndAt: at(62)},
			{Phase: string(PhaseAwaitingPod), StartAt: at(62), EndAt: at(63)},
			{Phase: string(PhaseWorkload), Pod: "shop/first", StartAt: at(63), EndAt: at(65)},
		}}
	const starting = "For 21.0 s of this wait, the node was starting: 12.0 s network plugin, 5.0 s taint " +
		"node.cilium.io/agent-not-ready of Cilium, 4.0 s until the kubelet had started on the machine"
	for name, test := range map[string]struct {
		created, ungated, bound int
		want                    string
	}{
		"created before the boot": {0, 0, 62, "Pod shop/web waited 62.0 s until it was bound to node-7, which booted " +
			"41.0 s after the wait began. " + starting},
		"created long before the boot": {-7159, 0, 62, "Pod shop/web waited 7221.0 s until it was bound to node-7, " +
			"which booted 7200.0 s after the wait began. " + starting},
		"gated until the boot": {0, 42, 62, "Pod shop/web waited 20.0 s until it was bound to node-7. For 20.0 s of " +
			"this wait, the node was starting: 12.0 s network plugin, 5.0 s taint node.cilium.io/agent-not-ready of " +
			"Cilium, 3.0 s until the kubelet had started on the machine"},
		"bound long after the node was usable": {30, 0, 500, "Pod shop/web waited 470.0 s until it was bound to " +
			"node-7, which booted 11.0 s after the wait began. " + starting},
		"bound at the boot": {30, 0, 41, "Pod shop/web waited 11.0 s until it was bound to node-7, which booted " +
			"11.0 s after the wait began"},
		"bound while the machine booted": {40, 0, 44, "Pod shop/web waited 4.0 s until it was bound to node-7, " +
			"which booted 1.0 s after the wait began. For 3.0 s of this wait, the node was starting: 3.0 s until the " +
			"kubelet had started on the machine"},
		"gated until the binding":        {0, 43, 43, ""},
		"created after the registration": {50, 0, 62, ""},
		"never bound":                    {0, 0, 0, ""},
		"bound before the boot":          {0, 0, 30, ""},
	} {
		pod := api.Record{Namespace: "shop", Name: "web", CreatedAt: at(test.created)}
		if test.bound > 0 {
			pod.Milestones = []api.MilestoneRecord{{Milestone: "scheduled", Earliest: at(test.bound),
				Latest: at(test.bound)}}
		}
		if test.ungated > 0 {
			pod.Phases = []api.PhaseRecord{{Phase: timeline.PhaseSchedulingGate, StartAt: at(0),
				EndAt: at(test.ungated)}}
		}
		if got := WaitedDuring(pod, node); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
