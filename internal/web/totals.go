package web

import (
	"net/http"

	"github.com/podlapse/podlapse/internal/factor"
	"github.com/podlapse/podlapse/internal/filter"
	"github.com/podlapse/podlapse/pkg/api"
)

// serveTotals serves the totals of the start-ups that ended in a time window. For each request, the agent
// computes the totals from the timelines and the history. The agent keeps no totals between requests.
func (a readAPI) serveTotals(w http.ResponseWriter, r *http.Request, f filter.Filter) error {
	window := factor.TimeWindow{Since: f.Since}
	if text := r.URL.Query().Get("until"); text != "" {
		until, err := filter.ParseTime(text, a.API.Now())
		if err != nil {
			return badRequest("until: invalid value %.80q: %v", text, err)
		}
		if !f.Since.IsZero() && !until.After(f.Since) {
			return badRequest("until: the time must be later than the time in since")
		}
		window.Until = until
	}
	all, err := a.startUps(r, func(k filter.Key, _ string) bool {
		return f.MayMatch(k) && window.Contains(k.SettledAt)
	})
	if err != nil {
		return err
	}
	totals := factor.NewTotals(a.API.Node, window)
	for _, s := range all {
		record, err := s.record()
		if err != nil {
			return err
		}
		totals.Add(record)
	}
	response := totals.Record()
	response.At = api.InstantOf(a.API.Now())
	return respond(w, r, response)
}
