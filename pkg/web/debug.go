package web

import (
	"io"
	"net"
	"net/http"
	"net/netip"

	"go.uber.org/zap"
)

// observations answers with the latest observations as a recording. What was seen of every pod on the
// node is more than the other addresses tell, so that only a connection within the agent's own network
// namespace may read it, as kubectl port-forward makes one.
type observations struct {
	latest io.WriterTo // nil when the agent keeps none
	logger *zap.Logger
}

func (h observations) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case !overLoopback(r):
		writeError(w, http.StatusForbidden, "forbidden",
			"observations are only told over loopback: use kubectl port-forward, or ask on the node itself")
	case h.latest == nil:
		writeError(w, http.StatusNotFound, "not_found",
			"the agent keeps no observations: start it with --debug-observations=on or --record-observations")
	default:
		w.Header().Set("Content-Type", "application/jsonl")
		if _, err := h.latest.WriteTo(w); err != nil {
			h.logger.Debug("observations not told to the end", zap.Error(err))
		}
	}
}

// overLoopback says whether both ends of the connection are loopback addresses. Headers, which anyone
// can write, do not count.
func overLoopback(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && isLoopback(local.String()) && isLoopback(r.RemoteAddr)
}

func isLoopback(address string) bool {
	a, err := netip.ParseAddrPort(address)
	return err == nil && a.Addr().Unmap().IsLoopback()
}
