package web

import (
	"net/http"
	"path"
	"strings"
)

// listed has a handler answer what is in the mux, and rest answer all else.
func listed(mux *http.ServeMux, handler, rest http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern != "" {
			handler.ServeHTTP(w, r)
			return
		}
		rest.ServeHTTP(w, r)
	})
}

// front is what every request meets first. Probes go on when all else is too much, and need nobody's leave: kubelet
// has none to show.
func front(limits *limits, hosts []string, probes *http.ServeMux, rest http.Handler) http.Handler {
	return harmless(unforeign(hosts, limits.dropped, listed(probes, probes, limits.hold(rest))))
}

// harmless lets only requests through that read, and sets the headers that every answer has.
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
			header.Set("Connection", "close") // whatever it holds is not read
			writeError(w, http.StatusMethodNotAllowed, "method_not_allowed", "the agent only answers GET and HEAD")
		case r.ContentLength != 0: // unknown is -1
			header.Set("Connection", "close")
			writeError(w, http.StatusRequestEntityTooLarge, "body_not_allowed",
				"requests to the agent must not have a body")
		case !plain(r.URL.EscapedPath()): // else the mux would send elsewhere, which behind a proxy is nowhere
			writeError(w, http.StatusNotFound, "not_found", noSuchAddress)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// plain says that a path has nothing that the mux would take out.
func plain(p string) bool {
	return p == "/" || path.Clean(p) == strings.TrimSuffix(p, "/")
}
