package web

import (
	"log"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	// scrapesAtOnce bounds the memory that scrapes can take; a scraper beyond gets 503.
	scrapesAtOnce = 4
	// snapshotsAtOnce does so for the API: a snapshot of a full node is a few megabytes.
	snapshotsAtOnce = 4
)

// newProbes lists the addresses that kubelet asks, which are open to everybody.
func newProbes(config Config) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("/livez", livez)
	mux.HandleFunc("/healthz", livez) // as older tools call it
	mux.Handle("/readyz", readiness{statuses: config.Statuses, required: config.Required})
	return mux
}

// newReads lists every other address of the server.
func newReads(config Config, errorLog *log.Logger) http.Handler {
	metrics := promhttp.HandlerFor(config.Gatherer, promhttp.HandlerOpts{
		ErrorLog:            errorLog,
		ErrorHandling:       promhttp.ContinueOnError, // one bad collector must not hide the others
		EnableOpenMetrics:   true,
		MaxRequestsInFlight: scrapesAtOnce,
	})
	pods := api{timelines: config.Timelines, livePulls: config.Pulls, logger: config.Logger}
	snapshots := make(chan struct{}, snapshotsAtOnce)

	mux := http.NewServeMux()
	guarded := func(pattern string, handler http.Handler) {
		mux.Handle(pattern, guard(config.Access, config.Logger, handler))
	}
	guarded("/metrics", metrics)
	guarded("/api/v1/pods", atMost(snapshots, http.HandlerFunc(pods.list)))
	guarded("/api/v1/pods/{namespace}/{name}", atMost(snapshots, http.HandlerFunc(pods.get)))
	guarded("/api/v1/pulls", atMost(snapshots, http.HandlerFunc(pods.pulls)))
	guarded("/debug/observations", onlyLocal(observations{latest: config.Observations, logger: config.Logger}))
	mux.HandleFunc("/{$}", index)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, http.StatusNotFound, "not_found", "no such address; / lists those there are")
	})
	return mux
}

const indexText = `podlapse agent

/metrics                        for Prometheus
/livez, /healthz                the agent answers
/readyz                         the agent knows the pods of its node; ?verbose lists every part
/api/v1/pods                    every pod's start-up as JSON
/api/v1/pods/NAMESPACE/NAME     one pod's
/api/v1/pulls                   the image pulls that go on
/debug/observations             what the sources observed last, as a recording; over loopback only
`

func index(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, indexText) }
