package web

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// onlyLocal protects paths that reveal more than the others do, such as the observations of every
// pod on the node. Only connections within the agent's own network namespace may read them, as
// kubectl port-forward creates one.
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

// unlessLocal restricts clients from elsewhere to the open paths: all others name pods.
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

// notLocal is the error word from which clients know that they must connect over loopback.
const notLocal = "not_local"

// isLocal reports whether a request came from the agent's own network namespace, and not through a
// proxy.
func isLocal(r *http.Request) bool { return overLoopback(r) && !forwarded(r) }

// overLoopback reports whether both ends of the connection are loopback addresses. Headers do not
// count: any client can set them.
func overLoopback(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && isLoopback(local.String()) && isLoopback(r.RemoteAddr)
}

func isLoopback(address string) bool {
	a, err := netip.ParseAddrPort(address)
	return err == nil && a.Addr().Unmap().IsLoopback()
}

// forwarded reports whether a proxy forwarded the request. Then the client is elsewhere, even if
// the proxy is a container of the same pod.
func forwarded(r *http.Request) bool {
	for header := range r.Header {
		if header == "Forwarded" || header == "Via" || header == "X-Real-Ip" ||
			strings.HasPrefix(header, "X-Forwarded-") {
			return true
		}
	}
	return false
}

// localHost rejects the host names of other sites: a browser sends them after DNS rebinding.
func localHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}
