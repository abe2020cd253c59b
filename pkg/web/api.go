package web

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// askTimeout is how long a request waits for its turn on reconcile's goroutine.
const askTimeout = 3 * time.Second

// api is the read API over the timelines.
type api struct {
	timelines func(context.Context) ([]timeline.Timeline, error)
	livePulls func(context.Context) (export.LivePulls, error)
	logger    *zap.Logger
}

func (a api) list(w http.ResponseWriter, r *http.Request) {
	if timelines, ok := ask(a, w, r, a.timelines); ok {
		writeJSON(w, http.StatusOK, export.NewRecordList(timelines))
	}
}

func (a api) pulls(w http.ResponseWriter, r *http.Request) {
	if pulls, ok := ask(a, w, r, a.livePulls); ok {
		writeJSON(w, http.StatusOK, export.LivePullList{Items: pulls.Records()})
	}
}

func (a api) get(w http.ResponseWriter, r *http.Request) {
	timelines, ok := ask(a, w, r, a.timelines)
	if !ok {
		return
	}
	namespace, name := r.PathValue("namespace"), r.PathValue("name")
	found, ok := newest(timelines, namespace, name)
	if !ok {
		writeError(w, http.StatusNotFound, "not_found",
			fmt.Sprintf("no pod %.63s/%.253s is known on this node", namespace, name))
		return
	}
	writeJSON(w, http.StatusOK, export.NewRecord(found))
}

// ask takes a snapshot, or answers the request itself when there is none.
func ask[S any](a api, w http.ResponseWriter, r *http.Request, snapshot func(context.Context) (S, error)) (S, bool) {
	ctx, cancel := context.WithTimeout(r.Context(), askTimeout)
	defer cancel()
	taken, err := snapshot(ctx)
	if err != nil {
		a.logger.Debug("no snapshot for a request", zap.Error(err))
		writeError(w, http.StatusServiceUnavailable, "unavailable", "the agent is busy or stopping; try again")
		return taken, false
	}
	return taken, true
}

// newest finds the pod of that name that was created last: a name can be used again while the pod
// that had it is still remembered.
func newest(timelines []timeline.Timeline, namespace, name string) (timeline.Timeline, bool) {
	var found timeline.Timeline
	ok := false
	for _, t := range timelines {
		if t.Namespace == namespace && t.Name == name && (!ok || t.CreatedAt.After(found.CreatedAt)) {
			found, ok = t, true
		}
	}
	return found, ok
}
