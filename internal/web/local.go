package web

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// onlyLocal is for what tells more than the other addresses do, such as what was seen of every pod on the node: only a
// connection within the agent's own network namespace may read it, as kubectl port-forward makes one.
func onlyLocal(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reason := ""
		switch {
		case !overLoopback(r):
			reason = "served over loopback only: use kubectl port-forward, or query on the node itself"
		case forwarded(r):
			reason = "not served through a proxy: use kubectl port-forward, or query on the node itself"
		case !localHost(r.Host):
			reason = "served only for the host localhost or a loopback address"
		default:
			next.ServeHTTP(w, r)
			return
		}
		writeError(w, http.StatusForbidden, "forbidden", reason)
	})
}

// unlessLocal answers readers from elsewhere with nothing but the paths that are open: all others name pods.
func unlessLocal(open []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isLocal(r) || slices.Contains(open, r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		writeError(w, http.StatusForbidden, notLocal, "the agent serves data about pods over loopback only: use "+
			"kubectl podlapse or kubectl port-forward, or start it with --web-auth=kubernetes or --web-auth=none")
	})
}

// notLocal is by what clients know that they have to come over loopback.
const notLocal = "not_local"

// isLocal says whether a request came from the agent's own network namespace, and nobody handed it on.
func isLocal(r *http.Request) bool { return overLoopback(r) && !forwarded(r) }

// overLoopback says whether both ends of the connection are loopback addresses. What a header says of them does not
// count: anyone can write it.
func overLoopback(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && isLoopback(local.String()) && isLoopback(r.RemoteAddr)
}

func isLoopback(address string) bool {
	a, err := netip.ParseAddrPort(address)
	return err == nil && a.Addr().Unmap().IsLoopback()
}

// forwarded says whether a proxy handed the request on: then whoever asks is somewhere else, even where the proxy is a
// container of the same pod.
func forwarded(r *http.Request) bool {
	for header := range r.Header {
		if header == "Forwarded" || header == "Via" || header == "X-Real-Ip" ||
			strings.HasPrefix(header, "X-Forwarded-") {
			return true
		}
	}
	return false
}

// localHost refuses a browser that a foreign page sent here under its own name (DNS rebinding).
func localHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}
