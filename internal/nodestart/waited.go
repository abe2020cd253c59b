package nodestart

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// WaitedDuring describes how long a pod waited until it was bound to its node, and how the node started during this
// time: see Timeline.Waited. The result is empty if the pod's binding or the node's registration is unknown. The result
// is also empty if the pod began to wait after the node's registration, or if the pod was bound before the machine
// booted.
func WaitedDuring(pod api.Record, node api.NodeStartUpRecord) string {
	w := Workload{Namespace: pod.Namespace, Name: pod.Name, CreatedAt: pod.CreatedAt.Time}
	for _, m := range pod.Milestones {
		if m.Milestone == "scheduled" {
			w.BoundAt = m.Latest.Time
		}
	}
	bound := w.BoundAt // the loop sets it to the end of the last phase before the binding
	for _, p := range pod.Phases {
		if mayBe(p.Phase, p.MergedWith, timeline.PhaseSchedulingGate) {
			w.UngatedBy, bound = p.EndAt.Time, p.EndAt.Time
		} else if mayBeForScheduler(p) {
			bound = p.EndAt.Time
		}
	}
	w.BoundAt = earlier(w.BoundAt, bound)
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

// MayHaveWaited reports whether a pod might have waited at least a second to be scheduled. A pod that was scheduled
// within a second waited for its node only briefly, or not at all. MayHaveWaited does not count a phase in which a
// scheduling gate might have held the pod.
func MayHaveWaited(pod api.Record) bool {
	var waited time.Duration
	for _, p := range pod.Phases {
		if mayBeForScheduler(p) && !mayBe(p.Phase, p.MergedWith, timeline.PhaseSchedulingGate) {
			waited += p.Length.Duration()
		}
	}
	return waited >= time.Second
}

func mayBeForScheduler(p api.PhaseRecord) bool {
	return mayBe(p.Phase, p.MergedWith, timeline.PhaseUnschedulable) ||
		mayBe(p.Phase, p.MergedWith, timeline.PhaseScheduling)
}

// mayBe reports whether the time of a pod's phase can belong to the wanted phase. The evidence could not separate the
// phase p from the phases in the argument "merged".
func mayBe(p timeline.Phase, merged []timeline.Phase, wanted timeline.Phase) bool {
	return p == wanted || slices.Contains(merged, wanted)
}
