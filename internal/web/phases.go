package web

import (
	"net/http"

	"github.com/podlapse/podlapse/internal/filter"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// servePhases serves the cause and the meaning of each phase.
func (a readAPI) servePhases(w http.ResponseWriter, r *http.Request, _ filter.Filter) error {
	list := api.PhaseList{Items: []api.PhaseMeaning{}}
	for _, phase := range timeline.Phases() {
		list.Items = append(list.Items, api.PhaseMeaning{Phase: phase, Cause: timeline.CauseOf(phase),
			Text: timeline.MeaningOf(phase)})
	}
	return respond(w, r, list)
}
