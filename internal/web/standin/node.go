package main

import (
	"time"

	"github.com/podlapse/podlapse/internal/nodestart"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// nodeStartUp returns a function that returns the record of a node. The first workload pod of this node becomes ready
// at the time began+until. The node waited for the pod of a DaemonSet, and then for the removal of a taint.
func nodeStartUp(began time.Time, until time.Duration) func() (api.NodeStartUpRecord, bool) {
	return func() (api.NodeStartUpRecord, bool) {
		t := startedNode()
		if time.Since(began) < until {
			last := len(t.Phases) - 1
			t.State, t.Partial, t.SettledAt, t.Phases[last].Open = nodestart.StateStarting, true, time.Time{}, true
		}
		return nodestart.Record(t), true
	}
}

func startedNode() nodestart.Timeline {
	at := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	t := nodestart.Timeline{
		Node: "standin", BootID: "b1", State: nodestart.StateReady, BootedAt: at, TotalError: 500 * time.Millisecond,
		Reconstructed: true, Missing: []string{"kubelet_started"},
	}
	add := func(length time.Duration, s nodestart.Span) {
		s.StartAt, s.EndAt, s.Error = at, at.Add(length), length/20
		at = s.EndAt
		t.Phases = append(t.Phases, s)
	}
	add(11*time.Second, nodestart.Span{Phase: nodestart.PhaseMachine, Cause: nodestart.CauseMachine})
	add(time.Second, nodestart.Span{Phase: nodestart.PhaseUnattributed, Cause: timeline.CauseUnknown,
		Candidates: []nodestart.Phase{nodestart.PhaseRegistration, nodestart.PhaseRuntime}})
	add(9*time.Second, nodestart.Span{Phase: nodestart.PhaseDaemonSet, Cause: timeline.CauseRegistry,
		Step: timeline.PhasePull, Pod: "kube-system/cilium-5xk2p"})
	add(4*time.Second, nodestart.Span{Phase: nodestart.PhaseTaint, Cause: nodestart.CauseTaintOwner,
		Taint: "node.cilium.io/agent-not-ready", Owner: "Cilium"})
	add(0, nodestart.Span{Phase: nodestart.PhaseAwaitingPod, Cause: nodestart.CauseNone})
	add(3*time.Second, nodestart.Span{Phase: nodestart.PhaseWorkload, Cause: timeline.CauseApp,
		Step: timeline.PhaseReadinessProbe, Pod: "shop/web"})
	t.SettledAt, t.Total = at, at.Sub(t.BootedAt)
	return t
}

// hostileNode returns the record of a node with texts that attack the page. For each attack, the record has one phase
// whose text fields contain the attack. The fields Verdict and Missing contain all attacks.
func hostileNode() (api.NodeStartUpRecord, bool) {
	record := nodestart.Record(startedNode())
	for i, attack := range attacks() {
		record.Phases = append(record.Phases, api.NodePhaseRecord{
			Phase: attack, Cause: timeline.Cause(attack), Step: timeline.Phase(attack), Pod: attack, Taint: attack,
			Owner: attack, Length: api.Seconds(i) * api.Seconds(time.Second), Candidates: []string{attack},
		})
		record.Verdict += attack
		record.Missing = append(record.Missing, megabyte(attack))
	}
	return record, true
}
