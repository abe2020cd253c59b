package web

import (
	"log"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// scrapesAtOnce bounds the memory that scrapes can take; a scraper beyond gets 503.
const scrapesAtOnce = 4

// newHandler lists every address of the server.
func newHandler(config Config, errorLog *log.Logger) http.Handler {
	metrics := promhttp.HandlerFor(config.Gatherer, promhttp.HandlerOpts{
		ErrorLog:            errorLog,
		ErrorHandling:       promhttp.ContinueOnError, // one bad collector must not hide the others
		EnableOpenMetrics:   true,
		MaxRequestsInFlight: scrapesAtOnce,
	})
	ready := readiness{statuses: config.Statuses, required: config.Required}

	mux := http.NewServeMux()
	mux.Handle("/metrics", metrics)
	mux.HandleFunc("/livez", livez)
	mux.Handle("/readyz", ready)
	handleAPI(mux, config)
	mux.Handle("/debug/observations", observations{latest: config.Observations, logger: config.Logger})
	mux.HandleFunc("/{$}", index)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, http.StatusNotFound, "not_found", "no such address; / lists those there are")
	})
	return readOnly(mux)
}

// readOnly lets only GET and HEAD through and sets the headers every answer has.
func readOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			writeError(w, http.StatusMethodNotAllowed, "method_not_allowed", "the agent only answers GET and HEAD")
			return
		}
		next.ServeHTTP(w, r)
	})
}

const indexText = `podlapse agent

/metrics                        for Prometheus
/livez                          the agent answers
/readyz                         the agent knows the pods of its node; ?verbose lists every part
/api/v1/node                    the node in numbers
/api/v1/pods                    start-ups as JSON; /api/v1/openapi.json tells how to choose some
/api/v1/pods/NAMESPACE/NAME     one pod's; with /trace, as a Chrome trace
/api/v1/pulls                   image pulls that go on, and recent ones
/api/v1/registries              what the pulls add up to
/api/v1/evidence                how well the agent sees
/api/v1/objects/pods            the pod objects, if the agent serves them
/api/v1/stream                  changes as Server-Sent Events
/debug/observations             what the sources observed last, as a recording; over loopback only
`

func index(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, indexText) }
