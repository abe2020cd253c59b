package web

import (
	"net/http"
	"slices"

	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func (a api) node(w http.ResponseWriter, r *http.Request) {
	if _, ok := a.asks(w, r, nil); !ok {
		return
	}
	timelines, ok := ask(a, w, r, a.timelines)
	if !ok {
		return
	}
	pulls, ok := ask(a, w, r, a.livePulls)
	if !ok {
		return
	}
	_, ready := readiness{statuses: a.statuses, required: a.required}.check(true)
	record := export.NodeRecord{
		Node: a.Node, At: export.InstantOf(a.Now()), Ready: ready,
		Agent: export.AgentRecord{Version: a.Build.Version, Revision: a.Build.Revision,
			StartedAt: export.InstantOf(a.StartedAt)},
		Pods:     export.PodCounts{Present: len(timelines), States: map[timeline.State]int{}},
		Starting: export.StartingRecords(timelines),
		History:  a.history(),
	}
	for _, t := range timelines {
		record.Pods.States[t.State]++
	}
	for _, p := range pulls.Records() {
		record.Pulls.GoingOn++
		if p.Pulling() {
			record.Pulls.Pulling++
		}
	}
	a.answer(w, r, record)
}

func (a api) history() export.HistoryRecord {
	stats := a.History.Stats()
	pods, bytes := a.History.Limits()
	record := export.HistoryRecord{Pods: stats.Pods, Bytes: stats.Bytes, LimitPods: pods, LimitBytes: bytes,
		Dropped: stats.Dropped}
	if stats.Pods > 0 {
		record.OldestAt = export.InstantOf(stats.OldestAt)
	}
	return record
}

func (a api) evidence(w http.ResponseWriter, r *http.Request) {
	if _, ok := a.asks(w, r, nil); !ok {
		return
	}
	timelines, ok := ask(a, w, r, a.timelines)
	if !ok {
		return
	}
	skew, ok := ask(a, w, r, a.Skew)
	if !ok {
		return
	}
	record := export.EvidenceRecord{At: export.InstantOf(a.Now()), Parts: []export.PartRecord{},
		ClockSkew: export.Skew(skew)}
	for _, s := range a.statuses() {
		record.Parts = append(record.Parts, export.PartRecord{
			Part: s.Part, Up: s.Up, Required: slices.Contains(a.required, s.Part), Since: export.InstantOf(s.Since),
			Detail: s.Detail,
		})
	}
	there := make(map[string]bool, len(timelines))
	for _, t := range timelines {
		there[t.UID] = true
		record.Add(export.QualityOf(t), t.Total)
	}
	for _, e := range a.History.Entries() {
		if !there[e.UID] {
			record.Add(e.Quality, e.Total)
		}
	}
	a.answer(w, r, record)
}
