package web

import (
	"io"
	"net/http"

	"go.uber.org/zap"
)

// observations serves the latest observations as a recording.
type observations struct {
	latest io.WriterTo // latest observations; nil if the agent keeps no observations
	logger *zap.Logger
}

func (h observations) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if h.latest == nil {
		writeError(w, http.StatusNotFound, "not_found",
			"the agent does not keep observations: start the agent with --debug-observations=on or "+
				"--record-observations")
		return
	}
	w.Header().Set("Content-Type", "application/jsonl")
	w.WriteHeader(http.StatusOK)
	// After Flush, the body goes to the client in parts. Without Flush, the agent would hold the whole body in memory,
	// and a large body could exceed maxResponse.
	_ = http.NewResponseController(w).Flush()
	if _, err := h.latest.WriteTo(w); err != nil {
		h.logger.Debug("cannot send observations", zap.Error(err))
	}
}
