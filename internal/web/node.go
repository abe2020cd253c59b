package web

import (
	"net/http"
	"slices"

	"github.com/podlapse/podlapse/internal/filter"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func (a readAPI) node(w http.ResponseWriter, r *http.Request, _ filter.Filter) error {
	timelines, err := ask(a, r, a.Timelines)
	if err != nil {
		return err
	}
	pulls, err := ask(a, r, a.Pulls)
	if err != nil {
		return err
	}
	_, ready := readiness{statuses: a.Statuses, required: a.Required}.check(true)
	record := api.NodeRecord{
		Node: a.API.Node, At: api.InstantOf(a.API.Now()), Ready: ready,
		Agent:    a.API.Agent,
		Pods:     api.PodCounts{Present: len(timelines), States: map[timeline.State]int{}},
		Starting: api.StartingRecords(timelines),
		History:  a.history(),
	}
	for _, t := range timelines {
		record.Pods.States[t.State]++
	}
	for _, p := range pulls.Records() {
		record.Pulls.InProgress++
		if p.Pulling() {
			record.Pulls.Pulling++
		}
	}
	return respond(w, r, record)
}

func (a readAPI) nodeStartUp(w http.ResponseWriter, r *http.Request, _ filter.Filter) error {
	if a.API.NodeStartUp == nil {
		return refuse(http.StatusNotFound, "not_found",
			"the agent does not follow the start-up of its node: start the agent with --node-startup=on")
	}
	record, ok := a.API.NodeStartUp()
	if !ok {
		return refuse(http.StatusServiceUnavailable, "unavailable",
			"the agent cannot read the boot time of the machine: see the part node_startup in /api/v1/evidence")
	}
	return respond(w, r, record)
}

func (a readAPI) history() api.HistoryRecord {
	stats := a.API.History.Stats()
	pods, bytes := a.API.History.Limits()
	record := api.HistoryRecord{Pods: stats.Pods, Bytes: stats.Bytes, LimitPods: pods, LimitBytes: bytes,
		Dropped: stats.Dropped}
	if stats.Pods > 0 {
		record.OldestAt = api.InstantOf(stats.OldestAt)
	}
	return record
}

func (a readAPI) evidence(w http.ResponseWriter, r *http.Request, _ filter.Filter) error {
	timelines, err := ask(a, r, a.Timelines)
	if err != nil {
		return err
	}
	skew, err := ask(a, r, a.API.Skew)
	if err != nil {
		return err
	}
	record := api.EvidenceRecord{At: api.InstantOf(a.API.Now()), Parts: []api.PartRecord{},
		ClockSkew: api.Skew(skew)}
	for _, s := range a.Statuses() {
		record.Parts = append(record.Parts, api.PartRecord{
			Part: s.Part, Up: s.Up, Required: slices.Contains(a.Required, s.Part), Since: api.InstantOf(s.Since),
			Detail: s.Detail,
		})
	}
	for _, t := range timelines {
		record.Add(api.QualityOf(t), t.Total)
	}
	for _, e := range a.deletedPods(timelines) {
		record.Add(e.Quality, e.Total)
	}
	return respond(w, r, record)
}
