package web

import (
	"fmt"
	"net/http"

	"github.com/podlapse/podlapse/internal/factor"
	"github.com/podlapse/podlapse/internal/filter"
	"github.com/podlapse/podlapse/pkg/api"
)

// serveTotals serves the totals of the start-ups that ended in a time window. For each request, the agent
// computes the totals from the timelines and the history. The agent keeps no totals between requests.
func (a readAPI) serveTotals(w http.ResponseWriter, r *http.Request) {
	f, ok := a.parseQuery(w, r, []string{"namespace", "since"}, "until")
	if !ok {
		return
	}
	window := factor.TimeWindow{Since: f.Since}
	if text := r.URL.Query().Get("until"); text != "" {
		until, err := filter.ParseTime(text, a.API.Now())
		if err != nil {
			badRequest(w, fmt.Sprintf("until: invalid value %.80q: %v", text, err))
			return
		}
		if !f.Since.IsZero() && !until.After(f.Since) {
			badRequest(w, "until: the time must be later than the time in since")
			return
		}
		window.Until = until
	}
	all, ok := a.startUps(w, r, func(k filter.Key, _ string) bool {
		return f.MayMatch(k) && window.Contains(k.SettledAt)
	})
	if !ok {
		return
	}
	totals := factor.NewTotals(a.API.Node, window)
	for _, s := range all {
		record, err := s.record()
		if err != nil {
			a.internalError(w, err)
			return
		}
		totals.Add(record)
	}
	response := totals.Record()
	response.At = api.InstantOf(a.API.Now())
	a.response(w, r, response)
}
