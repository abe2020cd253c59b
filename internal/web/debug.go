package web

import (
	"io"
	"net/http"

	"go.uber.org/zap"
)

// observations serves the latest observations as a recording.
type observations struct {
	latest io.WriterTo // nil if the agent keeps none
	logger *zap.Logger
}

func (h observations) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if h.latest == nil {
		writeError(w, http.StatusNotFound, "not_found",
			"observations are not kept: start the agent with --debug-observations=on or --record-observations")
		return
	}
	w.Header().Set("Content-Type", "application/jsonl")
	w.WriteHeader(http.StatusOK)
	// Write the rest as it is created: it can be large, and only one client reads it.
	_ = http.NewResponseController(w).Flush()
	if _, err := h.latest.WriteTo(w); err != nil {
		h.logger.Debug("sending observations failed", zap.Error(err))
	}
}
