package web

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// unforeign refuses what a foreign page has a reader's browser ask: the browser reaches more than
// the page's owner does, such as a port that kubectl forwards.
//
// A page under a name that suddenly leads to 127.0.0.1 (DNS rebinding) counts as the agent's own
// for a browser, which asks under that name. So requests over loopback come for an address, for
// localhost or for a name that was configured. What comes from elsewhere may have any name, such as
// a Service's or the API server's behind its proxy: there the reader gets what everybody else gets
// who reaches the port.
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

// knownHost takes any address, since none can be made to lead elsewhere, and what names none.
func knownHost(host string, names []string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if host == "" {
		return true // no browser asks so
	}
	host = strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), ".")
	_, err := netip.ParseAddr(host)
	return err == nil || strings.EqualFold(host, "localhost") ||
		slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, host) })
}

// crossSite goes by what browsers send of themselves (Fetch Metadata), which no page can change.
// They let links in other sites lead to the page, which shows nothing to those.
func crossSite(r *http.Request) bool {
	if r.Header.Get("Sec-Fetch-Site") != "cross-site" {
		return false
	}
	return r.URL.Path != "/" || r.Header.Get("Sec-Fetch-Mode") != "navigate" ||
		r.Header.Get("Sec-Fetch-Dest") != "document"
}
