package web

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// onlyLocal protects paths with sensitive data, such as the observations of every pod on the node. Only clients that
// connect within the agent's own network namespace can read the protected paths. kubectl port-forward creates a
// connection within the agent's network namespace.
func onlyLocal(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reason := ""
		switch {
		case !overLoopback(r):
			reason = "the agent serves this path only over loopback: use kubectl port-forward"
		case isForwarded(r):
			reason = "the agent does not serve this path through a proxy: use kubectl port-forward"
		case !localHost(r.Host):
			reason = "the request names another host: use the host localhost or a loopback address in the URL"
		default:
			next.ServeHTTP(w, r)
			return
		}
		writeError(w, http.StatusForbidden, "forbidden", reason)
	})
}

// unlessLocal lets clients outside the agent's network namespace read only the paths in the argument "open". The
// responses of all other paths can contain names of pods.
func unlessLocal(open []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isLocal(r) || slices.Contains(open, r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		writeError(w, http.StatusForbidden, notLocal, "the agent serves data about pods only over loopback: use "+
			"kubectl podlapse or kubectl port-forward, or start the agent with --web-auth=kubernetes or "+
			"--web-auth=none")
	})
}

// notLocal is the kind of error that tells clients to connect over loopback.
const notLocal = "not_local"

// isLocal reports whether a request came from the agent's own network namespace, and not through a proxy.
func isLocal(r *http.Request) bool { return overLoopback(r) && !isForwarded(r) }

// overLoopback reports whether both ends of the connection are loopback addresses. overLoopback ignores headers,
// because any client can set headers.
func overLoopback(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && isLoopback(local.String()) && isLoopback(r.RemoteAddr)
}

func isLoopback(address string) bool {
	a, err := netip.ParseAddrPort(address)
	return err == nil && a.Addr().Unmap().IsLoopback()
}

// isForwarded reports whether a proxy forwarded the request. The client of a proxy can be on another host,
// even if the proxy is a container of the agent's pod.
func isForwarded(r *http.Request) bool {
	for header := range r.Header {
		if header == "Forwarded" || header == "Via" || header == "X-Real-Ip" ||
			strings.HasPrefix(header, "X-Forwarded-") {
			return true
		}
	}
	return false
}

// localHost reports whether a host is localhost or a loopback address. After DNS rebinding, a browser sends the host
// name of another site. For the name of another site, localHost returns false.
func localHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}
