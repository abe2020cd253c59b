package web

import (
	"context"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/podlapse/podlapse/pkg/api"
)

// askTimeout is the maximum time that a request waits for a snapshot. A snapshot is a copy of the agent's state. The
// goroutine of package reconcile creates the snapshots.
const askTimeout = 3 * time.Second

// ask takes a snapshot. If ask cannot take the snapshot, it writes an error response and returns false.
func ask[S any](
	a readAPI, w http.ResponseWriter, r *http.Request, snapshot func(context.Context) (S, error),
) (S, bool) {
	ctx, cancel := context.WithTimeout(r.Context(), askTimeout)
	defer cancel()
	taken, err := snapshot(ctx)
	if err != nil {
		a.Logger.Debug("cannot respond to a request, because the agent's state is unavailable", zap.Error(err))
		writeError(w, http.StatusServiceUnavailable, "unavailable", "the agent is busy or stopping: try again")
		return taken, false
	}
	return taken, true
}

// response writes a value as JSON.
func (a readAPI) response(w http.ResponseWriter, r *http.Request, value any) {
	text, err := api.EncodeLine(value)
	a.send(w, r, text, err)
}

// send writes a line of JSON. If err is not nil, send writes an error response instead.
func (a readAPI) send(w http.ResponseWriter, r *http.Request, line []byte, err error) {
	if err != nil {
		a.internalError(w, err)
		return
	}
	responseJSON(w, r, append(line, '\n'))
}
