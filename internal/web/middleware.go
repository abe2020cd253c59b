package web

import (
	"net/http"
	"path"
	"strings"
)

// routeListed passes requests for paths in the mux to the argument "handler", and all other requests to the argument
// "rest".
func routeListed(mux *http.ServeMux, handler, rest http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern != "" {
			handler.ServeHTTP(w, r)
			return
		}
		rest.ServeHTTP(w, r)
	})
}

// middleware returns the handler that receives every request first. The handler responds to probes without
// authentication, because the kubelet sends no credentials. The handler responds to probes even if all limits are
// reached.
func middleware(limits *limits, hosts []string, probes *http.ServeMux, rest http.Handler) http.Handler {
	return readOnly(rejectForeign(hosts, limits.dropped, routeListed(probes, probes, limits.hold(rest))))
}

// readOnly accepts only GET and HEAD requests without a body. readOnly also refuses each path that the mux would
// redirect. readOnly sets the common headers of every response.
func readOnly(next http.Handler) http.Handler {
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
			header.Set("Connection", "close") // the server does not read the body of the request
			writeError(w, http.StatusMethodNotAllowed, "method_not_allowed",
				"the agent accepts only the methods GET and HEAD")
		case r.ContentLength != 0: // -1 means that the length is unknown
			header.Set("Connection", "close")
			writeError(w, http.StatusRequestEntityTooLarge, "body_not_allowed",
				"the request has a body: send the request without a body")
		case !isCleanPath(r.URL.EscapedPath()): // the mux would redirect to a path that is wrong behind a proxy
			writeError(w, http.StatusNotFound, "not_found", noSuchAddress)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// isCleanPath reports whether path.Clean would leave a path unchanged. A slash at the end of the path makes no
// difference, except in the path //. If isCleanPath returns false, the mux would redirect the client.
func isCleanPath(p string) bool {
	return p == "/" || p != "//" && path.Clean(p) == strings.TrimSuffix(p, "/")
}
