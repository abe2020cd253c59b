package web

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// unforeign rejects requests that a page of another site sends through a reader's browser. The browser can reach
// addresses that the page's owner cannot, such as a port that kubectl forwards.
//
// After DNS rebinding, where the site's name suddenly resolves to 127.0.0.1, the browser takes the
// agent for the site and sends its name. So requests over loopback must name an address, localhost
// or a configured host. Requests from elsewhere may name any host, such as a Service's or, behind
// its proxy, the API server's: there, a page gets no more than any other client that reaches the
// port.
func unforeign(hosts []string, dropped counters, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case overLoopback(r) && !knownHost(r.Host, hosts):
			dropped.count(droppedHost)
			writeError(w, http.StatusForbidden, "forbidden", "unknown host name: use localhost or an IP address, or "+
				"start the agent with --web-hosts=NAME")
		case crossSite(r):
			dropped.count(droppedCrossSite)
			writeError(w, http.StatusForbidden, "forbidden", "request from a page of another site: only links to "+
				"the agent's page are allowed")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// knownHost accepts any address, because DNS cannot point it elsewhere, and an empty host.
func knownHost(host string, names []string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if host == "" {
		return true // no browser sends this
	}
	host = strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), ".")
	_, err := netip.ParseAddr(host)
	return err == nil || strings.EqualFold(host, "localhost") ||
		slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, host) })
}

// crossSite evaluates the Fetch Metadata headers, which a page cannot change. Links from other
// sites may open the page: they show nothing to those sites.
func crossSite(r *http.Request) bool {
	if r.Header.Get("Sec-Fetch-Site") != "cross-site" {
		return false
	}
	return r.URL.Path != "/" || r.Header.Get("Sec-Fetch-Mode") != "navigate" ||
		r.Header.Get("Sec-Fetch-Dest") != "document"
}
