package web

import (
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzhttp"

	"github.com/podlapse/podlapse/internal/page"
)

// handlePage registers the page's files. Clients need the same access to the page's files as to the API.
func handlePage(mux *http.ServeMux, p page.Page) {
	mux.Handle("/page/{version}/{file}", packed(func(w http.ResponseWriter, r *http.Request) {
		file, ok := p.File(r.PathValue("file"))
		if !ok || r.PathValue("version") != p.Version { // the browser requests a file of an older or newer agent
			writeError(w, http.StatusNotFound, "not_found", "no such file in this version of the page: reload the page")
			return
		}
		w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
		writeFile(w, file)
	}))
}

// root serves the page to browsers, and the list of paths to all other clients. The list of paths contains no data
// about the node.
func root(p page.Page, access func(http.Handler) http.Handler) http.Handler {
	shown := access(packed(func(w http.ResponseWriter, _ *http.Request) { writeFile(w, p.Index) }))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Accept")
		if strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "text/html") {
			shown.ServeHTTP(w, r)
			return
		}
		index(w, r)
	})
}

func writeFile(w http.ResponseWriter, f page.File) {
	w.Header().Set("Content-Security-Policy", page.Policy)
	w.Header().Set("Content-Type", f.Type)
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(f.Text)
}

// packed compresses responses at the default compression level. Clients request the page's files rarely, so compression
// uses little CPU time.
func packed(handler http.HandlerFunc) http.Handler {
	pack, err := gzhttp.NewWrapper(gzhttp.MinSize(worthPacking), gzhttp.EnableZstd(false))
	if err != nil { // cannot happen, because these options are valid
		return handler
	}
	return pack(handler)
}
