package web

import (
	"net/http"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// servePhases serves the cause and the meaning of each phase.
func (a readAPI) servePhases(w http.ResponseWriter, r *http.Request) {
	if _, ok := a.parseQuery(w, r, nil); !ok {
		return
	}
	list := api.PhaseList{Items: []api.PhaseMeaning{}}
	for _, phase := range timeline.Phases() {
		list.Items = append(list.Items, api.PhaseMeaning{Phase: phase, Cause: timeline.CauseOf(phase),
			Text: timeline.MeaningOf(phase)})
	}
	a.response(w, r, list)
}
