package web

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/podlapse/podlapse/internal/filter"
	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/imagepull"
)

func (a api) pulls(w http.ResponseWriter, r *http.Request) {
	f, ok := a.asks(w, r, []string{"namespace"}, "registry", "limit")
	if !ok {
		return
	}
	limit, ok := limitOf(w, r)
	if !ok {
		return
	}
	now, ok := ask(a, w, r, a.Pulls)
	if !ok {
		return
	}
	records, ok := a.pulled(w, r)
	if !ok {
		return
	}
	registry := r.URL.Query().Get("registry")
	meant := func(namespace, host string) bool {
		return f.Belongs(filter.Key{Namespace: namespace}, filter.Detail{}) && (registry == "" || host == registry)
	}

	list := export.PullList{Items: now.Records(), Recent: []export.RecentPullRecord{}}
	list.Items = slices.DeleteFunc(list.Items, func(p export.LivePullRecord) bool {
		return !meant(p.Namespace, p.Registry)
	})
	for _, record := range records {
		for _, p := range record.Pulls {
			if p.Outcome != imagepull.OutcomePulling && p.Outcome != imagepull.OutcomePresent &&
				meant(record.Namespace, p.Registry) {
				p.Layers = nil
				list.Recent = append(list.Recent, export.RecentPullRecord{
					Namespace: record.Namespace, Pod: record.Name, UID: record.UID, PullRecord: p,
				})
			}
		}
	}
	slices.SortStableFunc(list.Recent, func(p, q export.RecentPullRecord) int {
		return lastOf(q).Compare(lastOf(p).Time)
	})
	list.Recent = list.Recent[:min(limit, len(list.Recent))]
	a.answer(w, r, list)
}

// lastOf returns the latest known time of a pull.
func lastOf(p export.RecentPullRecord) export.Instant {
	return cmp.Or(p.FinishedAt, p.StartedAt, p.RequestedAt)
}

func (a api) registries(w http.ResponseWriter, r *http.Request) {
	if _, ok := a.asks(w, r, nil); !ok {
		return
	}
	now, ok := ask(a, w, r, a.Pulls)
	if !ok {
		return
	}
	records, ok := a.pulled(w, r)
	if !ok {
		return
	}
	registries := export.NewRegistries()
	for _, record := range records {
		registries.Add(record.Pulls)
	}
	registries.GoOn(now.Records())
	a.answer(w, r, registries.List())
}

// pulled returns the records of start-ups that needed more than images already on the node. If that
// fails, it writes an error response and returns false.
func (a api) pulled(w http.ResponseWriter, r *http.Request) ([]export.Record, bool) {
	timelines, ok := ask(a, w, r, a.Timelines)
	if !ok {
		return nil, false
	}
	var records []export.Record
	for _, t := range timelines {
		records = append(records,
			export.Record{Namespace: t.Namespace, Name: t.Name, UID: t.UID, Pulls: export.PullRecords(t)})
	}
	for _, e := range a.gone(timelines) {
		if !e.Pulled {
			continue
		}
		record, _, err := e.Record()
		if err != nil {
			a.fails(w, err)
			return nil, false
		}
		records = append(records, record)
	}
	return records, true
}
