package nodestart

import (
	"github.com/podlapse/podlapse/pkg/api"
)

// Record converts a timeline to the record of the API.
func Record(t Timeline) api.NodeStartUpRecord {
	r := api.NodeStartUpRecord{
		ID: t.BootID, Node: t.Node, State: string(t.State), Partial: t.Partial, Reconstructed: t.Reconstructed,
		BootedAt: api.InstantOf(t.BootedAt), SettledAt: api.InstantOf(t.SettledAt),
		Total: api.Seconds(t.Total), TotalError: api.Seconds(t.TotalError),
		Verdict: t.Verdict(), Missing: copied(t.Missing),
		Phases: []api.NodePhaseRecord{}, Milestones: []api.NodeMilestoneRecord{},
		NotReady: copied(t.NotReady), Taints: copied(t.Taints), DaemonSets: copied(t.DaemonSets),
	}
	for _, s := range t.Phases {
		r.Phases = append(r.Phases, phaseRecord(s))
	}
	for _, m := range t.Milestones {
		r.Milestones = append(r.Milestones, api.NodeMilestoneRecord{Milestone: m.Name,
			Earliest: api.InstantOf(m.Earliest), Latest: api.InstantOf(m.Latest), Sources: copied(m.Sources)})
	}
	if w := t.Workload; w != nil {
		r.Workload = &api.FirstWorkloadRecord{Namespace: w.Namespace, Name: w.Name, UID: w.UID,
			CreatedAt: api.InstantOf(w.CreatedAt), BoundAt: api.InstantOf(w.BoundAt), Again: w.Again}
		if t.State == StateReady {
			r.Workload.ReadyAt = api.InstantOf(w.ReadyAt)
		}
		if waited, text := t.Waited(); waited > 0 {
			r.Workload.Waited, r.Workload.WaitedFor = new(api.Seconds(waited)), text
		}
	}
	return r
}

func phaseRecord(s Span) api.NodePhaseRecord {
	p := api.NodePhaseRecord{Phase: string(s.Phase), Cause: s.Cause, Step: s.Step, Pod: s.Pod, Taint: s.Taint,
		Owner: s.Owner, StartAt: api.InstantOf(s.StartAt), EndAt: api.InstantOf(s.EndAt),
		Length: api.Seconds(s.Duration()), Error: api.Seconds(s.Error), Open: s.Open, Sources: copied(s.Sources)}
	for _, c := range s.Candidates {
		p.Candidates = append(p.Candidates, string(c))
	}
	return p
}

// copied returns a copy of a list. The copy of an empty list is not nil, so that JSON shows it as an empty list.
func copied[E any](list []E) []E { return append([]E{}, list...) }
