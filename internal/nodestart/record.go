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
		Phases: []api.NodePhaseRecord{}, Milestones: []api.NodeMilestoneRecord{}, NotReady: []api.NotReadyRecord{},
		Taints: []api.TaintRecord{}, DaemonSets: []api.DaemonSetPodRecord{},
	}
	for _, s := range t.Phases {
		r.Phases = append(r.Phases, phaseRecord(s))
	}
	for _, m := range t.Milestones {
		r.Milestones = append(r.Milestones, api.NodeMilestoneRecord{Milestone: m.Name,
			Earliest: api.InstantOf(m.Earliest), Latest: api.InstantOf(m.Latest), Sources: copied(m.Sources)})
	}
	for _, n := range t.NotReady {
		r.NotReady = append(r.NotReady, api.NotReadyRecord{SeenAt: api.InstantOf(n.SeenAt), Condition: n.Condition,
			Message: n.Message})
	}
	for _, s := range t.Taints {
		taint := api.TaintRecord{Key: s.Key, Effect: s.Effect, Owner: s.Owner, Present: s.Present}
		if !s.Present {
			taint.RemovedAt, taint.Earliest, taint.Latest = api.InstantOf(s.RemovedAt), api.InstantOf(s.Earliest),
				api.InstantOf(s.Latest)
		}
		r.Taints = append(r.Taints, taint)
	}
	for _, c := range t.DaemonSets {
		r.DaemonSets = append(r.DaemonSets, daemonSetRecord(c))
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

func daemonSetRecord(c Child) api.DaemonSetPodRecord {
	return api.DaemonSetPodRecord{DaemonSet: c.DaemonSet, Namespace: c.Namespace, Name: c.Name, UID: c.UID,
		State: c.State, Critical: c.Critical, CreatedAt: api.InstantOf(c.CreatedAt),
		SettledAt: api.InstantOf(c.SettledAt), Total: api.Seconds(c.Total), TotalError: api.Seconds(c.TotalError),
		Verdict: c.Verdict}
}

func copied(list []string) []string { return append([]string{}, list...) }
