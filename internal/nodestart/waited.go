package nodestart

import (
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// WaitedFor returns one sentence about the time for which a pod waited for the start-up of its node. The wait begins
// when the pod is created, or when its last scheduling gate is removed. The wait ends when the pod is bound or when the
// node can run workload pods, whichever is earlier. If the pod is still unbound when the node can run workload pods,
// the pod then waits for something other than its node's start-up. The result is empty if the pod's binding or the
// node's registration is unknown. The result is also empty if the wait begins after the registration, or if the pod was
// bound before the boot.
func WaitedFor(pod api.Record, node api.NodeStartUpRecord) string {
	w := Workload{Namespace: pod.Namespace, Name: pod.Name, CreatedAt: pod.CreatedAt.Time}
	for _, m := range pod.Milestones {
		if m.Milestone == "scheduled" {
			w.BoundAt = m.Latest.Time
		}
	}
	for _, p := range pod.Phases {
		if p.Phase == timeline.PhaseSchedulingGate {
			w.UngatedAt = p.EndAt.Time
		}
	}
	t := Timeline{Node: node.Node, BootedAt: node.BootedAt.Time, Workload: &w}
	for _, m := range node.Milestones {
		t.Milestones = append(t.Milestones, Milestone{Name: m.Milestone, At: m.Latest.Time})
	}
	usableAt := node.BootedAt.Time
	for _, p := range node.Phases {
		if phase := Phase(p.Phase); phase == PhaseAwaitingPod || phase == PhaseWorkload {
			break
		}
		s := Span{Phase: Phase(p.Phase), Step: p.Step, Pod: p.Pod, Taint: p.Taint, Owner: p.Owner,
			StartAt: p.StartAt.Time, EndAt: p.EndAt.Time}
		for _, c := range p.Candidates {
			s.Candidates = append(s.Candidates, Phase(c))
		}
		t.Phases, usableAt = append(t.Phases, s), s.EndAt
	}
	if !w.BoundAt.IsZero() {
		w.BoundAt = earlier(w.BoundAt, usableAt)
	}
	_, text := t.Waited()
	return text
}

// MayHaveWaited reports whether a pod waited at least a second to be scheduled. A pod that was scheduled within a
// second waited for its node only briefly, or not at all.
func MayHaveWaited(pod api.Record) bool {
	var waited time.Duration
	for _, p := range pod.Phases {
		switch p.Phase {
		case timeline.PhaseUnschedulable, timeline.PhaseScheduling:
			waited += p.Length.Duration()
		}
	}
	return waited >= time.Second
}
