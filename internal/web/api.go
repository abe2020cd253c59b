package web

import (
	"context"
	"errors"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/filter"
	"github.com/podlapse/podlapse/pkg/api"
)

// askTimeout is the maximum time that a request waits for a snapshot. A snapshot is a copy of the agent's state. The
// goroutine of package reconcile creates the snapshots.
const askTimeout = 3 * time.Second

// ask takes a snapshot.
func ask[S any](a readAPI, r *http.Request, snapshot func(context.Context) (S, error)) (S, error) {
	ctx, cancel := context.WithTimeout(r.Context(), askTimeout)
	defer cancel()
	taken, err := snapshot(ctx)
	if err != nil {
		a.Logger.Debug("cannot respond to a request, because the agent's state is unavailable", zap.Error(err))
		err = refuse(http.StatusServiceUnavailable, "unavailable", "the agent is busy or stopping: try again")
	}
	return taken, err
}

// respond writes a value as JSON.
func respond(w http.ResponseWriter, r *http.Request, value any) error {
	line, err := api.EncodeLine(value)
	if err != nil {
		return err
	}
	responseJSON(w, r, append(line, '\n'))
	return nil
}

// endpoint responds to a request. The argument "f" contains the filters of the request. If an endpoint returns an
// error, it has not written a response.
type endpoint func(w http.ResponseWriter, r *http.Request, f filter.Filter) error

// handle returns the handler of an endpoint. The other arguments are the parameters that the endpoint accepts: see
// parseQuery. If the endpoint returns a refusal, the handler writes its error response. The handler logs other errors.
func (a readAPI) handle(serve endpoint, filters []string, others ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		f, err := a.parseQuery(r, filters, others...)
		if err == nil {
			err = serve(w, r, f)
		}
		var refused *refusal
		switch {
		case errors.As(err, &refused):
			writeError(w, refused.status, refused.problem.Error, refused.Reason)
		case err != nil:
			a.Logger.Error("cannot create the response to a request", zap.Error(err))
			writeError(w, http.StatusInternalServerError, "internal",
				"the agent cannot create the response: see the agent's log")
		}
	}
}
