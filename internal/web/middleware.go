package web

import (
	"net/http"
	"path"
	"strings"
)

// listed passes requests for paths in the mux to handler, and all others to rest.
func listed(mux *http.ServeMux, handler, rest http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern != "" {
			handler.ServeHTTP(w, r)
			return
		}
		rest.ServeHTTP(w, r)
	})
}

// middleware is what every request passes first. It answers probes even when all limits
// are reached, and without authentication: the kubelet has no credentials to send.
func middleware(limits *limits, hosts []string, probes *http.ServeMux, rest http.Handler) http.Handler {
	return harmless(unforeign(hosts, limits.dropped, listed(probes, probes, limits.hold(rest))))
}

// harmless passes on only read requests (GET and HEAD), and sets the headers that every response has.
func harmless(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("X-Frame-Options", "DENY")
		header.Set("Content-Security-Policy",
			"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", "no-store")
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			header.Set("Allow", "GET, HEAD")
			header.Set("Connection", "close") // the rest of the request is not read
			writeError(w, http.StatusMethodNotAllowed, "method_not_allowed", "the agent only answers GET and HEAD")
		case r.ContentLength != 0: // -1 if unknown
			header.Set("Connection", "close")
			writeError(w, http.StatusRequestEntityTooLarge, "body_not_allowed",
				"requests to the agent must not have a body")
		case !plain(r.URL.EscapedPath()): // the mux would redirect, which leads nowhere behind a proxy
			writeError(w, http.StatusNotFound, "not_found", noSuchAddress)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// plain reports whether the mux would leave a path unchanged.
func plain(p string) bool {
	return p == "/" || path.Clean(p) == strings.TrimSuffix(p, "/")
}
