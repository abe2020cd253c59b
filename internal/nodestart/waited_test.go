package nodestart

import (
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
)

// TestWaitedDuring uses a node that booted at second 41, registered at second 45 and could run workload pods at second
// 62. Package timeline computes the start-ups of the pods. The creation and the report of a scheduler are truncated to
// seconds, so their estimates are half a second later.
func TestWaitedDuring(t *testing.T) {
	at := func(second int) api.Instant { return api.InstantOf(time.Unix(1_000_000+int64(second), 0).UTC()) }
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
		generation                    int64
		created, unschedulable, bound int
		want                          string
	}{
		"created before the boot": {1, 0, 0, 62, "Pod shop/web waited 61.5 s until it was bound to node-7, which " +
			"booted 40.5 s after the wait began. " + starting},
		"created long before the boot": {1, -7159, 0, 62, "Pod shop/web waited 7220.5 s until it was bound to " +
			"node-7, which booted 7199.5 s after the wait began. " + starting},
		"possibly gated until a scheduler found no node": {2, 0, 42, 62, "Pod shop/web waited at least 19.5 s until " +
			"it was bound to node-7. For at least 19.5 s of this wait, the node was starting: 12.0 s network " +
			"plugin, 5.0 s taint node.cilium.io/agent-not-ready of Cilium, 2.5 s until the kubelet had started on " +
			"the machine"},
		"possibly gated until a time before the boot": {0, 0, 30, 62, "Pod shop/web waited at least 31.5 s until it " +
			"was bound to node-7, which booted at least 10.5 s after the wait began. For at least 21.0 s" +
			strings.TrimPrefix(starting, "For 21.0 s")},
		"never gated": {1, 0, 42, 62, "Pod shop/web waited 61.5 s until it was bound to node-7, which booted 40.5 s " +
			"after the wait began. " + starting},
		"bound long after the node was usable": {1, 30, 0, 500, "Pod shop/web waited 469.5 s until it was bound to " +
			"node-7, which booted 10.5 s after the wait began. " + starting},
		"bound at the boot": {1, 30, 0, 41, "Pod shop/web waited 10.5 s until it was bound to node-7, which booted " +
			"10.5 s after the wait began"},
		"bound while the machine booted": {1, 39, 0, 44, "Pod shop/web waited 4.5 s until it was bound to node-7, " +
			"which booted 1.5 s after the wait began. For 3.0 s of this wait, the node was starting: 3.0 s until " +
			"the kubelet had started on the machine"},
		"possibly gated until the binding":    {2, 0, 0, 62, ""},
		"possibly gated without a generation": {0, 0, 0, 62, ""},
		"created after the registration":      {1, 50, 0, 62, ""},
		"bound before the boot":               {1, 0, 0, 30, ""},
	} {
		pod := podObject{createdAt: at(test.created).Time, generation: test.generation, boundAt: at(test.bound).Time,
			namespace: "shop", name: "web"}
		if test.unschedulable > 0 {
			pod.unschedulableAt = at(test.unschedulable).Time
		}
		if got := WaitedDuring(api.NewRecord(pod.timeline(t, at(600).Time)), node); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
	if got := WaitedDuring(api.Record{Namespace: "shop", Name: "web", CreatedAt: at(0)}, node); got != "" {
		t.Errorf("a pod without a binding: got %q, want nothing", got)
	}
}

func TestMayHaveWaited(t *testing.T) {
	at := func(second float64) time.Time { return time.Unix(1_000_000, int64(second*1e9)).UTC() }
	for name, test := range map[string]struct {
		pod  podObject
		want bool
	}{
		"for a node": {podObject{generation: 1, unschedulableAt: at(1), boundAt: at(60)}, true},
		"for a node or a volume": {podObject{generation: 1, unschedulableAt: at(1), boundAt: at(60), claims: true},
			true},
		"for the scheduler":       {podObject{generation: 1, boundAt: at(60)}, true},
		"for less than a second":  {podObject{generation: 1, boundAt: at(1.2)}, false},
		"for a gate or scheduler": {podObject{generation: 2, boundAt: at(60)}, false},
		"for a gate, then a node": {podObject{generation: 2, unschedulableAt: at(30), boundAt: at(60)}, true},
		"for a gate, then briefly": {podObject{generation: 2, unschedulableAt: at(59), boundAt: at(60)},
			false},
	} {
		test.pod.createdAt = at(0)
		if got := MayHaveWaited(api.NewRecord(test.pod.timeline(t, at(100)))); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}
