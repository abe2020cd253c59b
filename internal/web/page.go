package web

import (
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzhttp"

	"github.com/podlapse/podlapse/internal/page"
)

// handlePage lists the addresses of the page's files. Who may not read the API may not read these.
func handlePage(mux *http.ServeMux, p page.Page) {
	mux.Handle("/page/{version}/{file}", packed(func(w http.ResponseWriter, r *http.Request) {
		file, ok := p.File(r.PathValue("file"))
		if !ok || r.PathValue("version") != p.Version { // of an agent before or after this one
			writeError(w, http.StatusNotFound, "not_found", "no such file in this version of the page; reload the page")
			return
		}
		w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
		writeFile(w, file)
	}))
}

// home answers browsers with the page, and everybody else with the list of addresses, which tells nothing of the node.
func home(p page.Page, access func(http.Handler) http.Handler) http.Handler {
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

// packed is compressed for files, which are asked for seldom.
func packed(handler http.HandlerFunc) http.Handler {
	pack, err := gzhttp.NewWrapper(gzhttp.MinSize(worthPacking), gzhttp.EnableZstd(false))
	if err != nil { // these options are known to be good
		return handler
	}
	return pack(handler)
}
