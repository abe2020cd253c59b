package web

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// rejectForeign rejects requests that a page of another site sends through the user's browser. The browser can
// reach addresses that the other site cannot reach, such as a port that kubectl forwards.
//
// After DNS rebinding, the name of another site resolves to 127.0.0.1. The browser then connects to the agent, but
// sends the site's name as the host. Over loopback, rejectForeign accepts only IP addresses, localhost and configured
// names as the host. A request that does not arrive over loopback can name any host, for example a Service. A request
// through the API server's proxy names the API server as the host. A request that does not arrive over loopback gets
// only the data that every client can get on this port.
func rejectForeign(hosts []string, dropped counters, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case overLoopback(r) && !knownHost(r.Host, hosts):
			dropped.count(droppedHost)
			writeError(w, http.StatusForbidden, "forbidden", "unknown host name: use localhost or an IP address in "+
				"the URL, or start the agent with --web-hosts=NAME")
		case crossSite(r):
			dropped.count(droppedCrossSite)
			writeError(w, http.StatusForbidden, "forbidden", "a page of another site sent the request: other "+
				"sites can only link to the agent's page")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// knownHost reports whether a host is empty, localhost, an IP address or one of the names. IP addresses are safe,
// because DNS rebinding works only with names.
func knownHost(host string, names []string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if host == "" {
		return true // a browser never sends an empty host
	}
	host = strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), ".")
	_, err := netip.ParseAddr(host)
	return err == nil || strings.EqualFold(host, "localhost") ||
		slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, host) })
}

// crossSite reports whether the agent must reject a request because a page of another site sent it. crossSite reads
// the Fetch Metadata headers, which pages cannot change. A link from another site to the agent's page is allowed,
// because the other site cannot read the page.
func crossSite(r *http.Request) bool {
	if r.Header.Get("Sec-Fetch-Site") != "cross-site" {
		return false
	}
	return r.URL.Path != "/" || r.Header.Get("Sec-Fetch-Mode") != "navigate" ||
		r.Header.Get("Sec-Fetch-Dest") != "document"
}
