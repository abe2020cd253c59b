package nodestart

import (
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// WaitedDuring returns a text about the time until a pod was bound to its node, and about the start-up of the node
// during this time: see Timeline.Waited. The result is empty if the pod's binding or the node's registration is
// unknown. The result is also empty if the wait begins after the registration, or if the pod was bound before the boot.
func WaitedDuring(pod api.Record, node api.NodeStartUpRecord) string {
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
	for _, p := range node.Phases {
		s := Span{Phase: Phase(p.Phase), Step: p.Step, Pod: p.Pod, Taint: p.Taint, Owner: p.Owner,
			StartAt: p.StartAt.Time, EndAt: p.EndAt.Time}
		for _, c := range p.Candidates {
			s.Candidates = append(s.Candidates, Phase(c))
		}
		t.Phases = append(t.Phases, s)
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
