package web

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/podlapse/podlapse/internal/filter"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
)

func (a readAPI) pulls(w http.ResponseWriter, r *http.Request, f filter.Filter) error {
	limit, err := limitOf(r)
	if err != nil {
		return err
	}
	now, err := ask(a, r, a.Pulls)
	if err != nil {
		return err
	}
	records, err := a.pullRecords(r)
	if err != nil {
		return err
	}
	registry := r.URL.Query().Get("registry")
	meant := func(namespace, host string) bool {
		return f.MatchesName(filter.Key{Namespace: namespace}) &&
			(registry == "" || strings.EqualFold(cmp.Or(host, imagepull.UnknownRegistry), registry))
	}

	list := api.PullList{Items: now.Records(), Recent: []api.RecentPullRecord{}}
	list.Items = slices.DeleteFunc(list.Items, func(p api.LivePullRecord) bool {
		return !meant(p.Namespace, p.Registry)
	})
	for _, record := range records {
		for _, p := range record.Pulls {
			if p.IsPull() && p.Outcome != imagepull.OutcomePulling && meant(record.Namespace, p.Registry) {
				p.Layers = nil
				list.Recent = append(list.Recent, api.RecentPullRecord{
					Namespace: record.Namespace, Pod: record.Name, UID: record.UID, PullRecord: p,
				})
			}
		}
	}
	slices.SortStableFunc(list.Recent, func(p, q api.RecentPullRecord) int {
		return lastOf(q).Compare(lastOf(p).Time)
	})
	list.Recent = list.Recent[:min(limit, len(list.Recent))]
	return respond(w, r, list)
}

// lastOf returns the latest known time of a pull.
func lastOf(p api.RecentPullRecord) api.Instant {
	return cmp.Or(p.FinishedAt, p.StartedAt, p.RequestedAt)
}

func (a readAPI) registries(w http.ResponseWriter, r *http.Request, _ filter.Filter) error {
	now, err := ask(a, r, a.Pulls)
	if err != nil {
		return err
	}
	records, err := a.pullRecords(r)
	if err != nil {
		return err
	}
	sums := registrySums{}
	for _, record := range records {
		sums.add(record.Pulls)
	}
	sums.addLive(now.Records())
	return respond(w, r, sums.list())
}

// pullRecords returns one record for each start-up, with the image pulls of the start-up. If a pod was deleted and its
// start-up had no pulls, pullRecords omits this start-up.
func (a readAPI) pullRecords(r *http.Request) ([]api.Record, error) {
	timelines, err := ask(a, r, a.Timelines)
	if err != nil {
		return nil, err
	}
	var records []api.Record
	for _, t := range timelines {
		records = append(records,
			api.Record{Namespace: t.Namespace, Name: t.Name, UID: t.UID, Pulls: api.PullRecords(t)})
	}
	for _, e := range a.deletedPods(timelines) {
		if !e.Pulled {
			continue
		}
		record, _, err := e.Record()
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	return records, nil
}
