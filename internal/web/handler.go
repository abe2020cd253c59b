package web

import (
	"log"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	// scrapesAtOnce limits the memory that concurrent scrapes take.
	scrapesAtOnce = 4
	// scrapePatience is how long a scrape waits for a slot, so that the response arrives within the
	// 10 s of Prometheus's default timeout.
	scrapePatience = 6 * time.Second
	// snapshotsAtOnce limits the memory of the API: a snapshot of a full node is a few megabytes.
	snapshotsAtOnce = 4
	// snapshotPatience is how long a request may wait for a slot: a page requests several paths at
	// once.
	snapshotPatience = 3 * time.Second
)

// newProbes registers the paths that the kubelet probes. They need no authentication.
func newProbes(config Config) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("/livez", livez)
	mux.HandleFunc("/healthz", livez) // the name that older tools use
	briefly := config.LocalOnly || config.Access != nil
	mux.Handle("/readyz", readiness{statuses: config.Statuses, required: config.Required, briefly: briefly})
	return mux
}

// newReads registers every other path of the server. access guards those in its mux.
func newReads(config Config, limits *limits, errorLog *log.Logger) http.Handler {
	metrics := promhttp.HandlerFor(config.Gatherer, promhttp.HandlerOpts{
		ErrorLog:          errorLog,
		ErrorHandling:     promhttp.ContinueOnError, // one bad collector must not hide the others
		EnableOpenMetrics: true,
	})

	mux := http.NewServeMux()
	mux.Handle("/metrics", limits.atMost(newSlots(scrapesAtOnce), scrapePatience, metrics))
	handleAPI(mux, config, limits)
	handlePage(mux, config.Page)
	mux.Handle("/debug/observations", onlyLocal(observations{latest: config.Observations, logger: config.Logger}))
	mux.Handle("/debug/pprof/{profile}", onlyLocal(newProfiles(config)))
	access := func(reads http.Handler) http.Handler { return guard(config.Access, config.Logger, reads) }
	if config.LocalOnly && config.Access == nil {
		access = func(reads http.Handler) http.Handler { return unlessLocal([]string{"/metrics"}, reads) }
	}
	return listed(mux, access(mux), newOpen(root(config.Page, access)))
}

// newOpen answers all other requests, without authentication.
func newOpen(root http.Handler) *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("/{$}", root)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, http.StatusNotFound, "not_found", noSuchAddress)
	})
	return mux
}

const noSuchAddress = "no such path; / lists all paths"

const indexText = `podlapse agent

/                               the page, for browsers
/metrics                        for Prometheus
/livez, /healthz                the agent answers
/readyz                         the agent has listed the pods of its node; ?verbose lists every component
/api/v1/node                    summary of the node
/api/v1/pods                    start-ups as JSON; /api/v1/openapi.json describes the filters
/api/v1/pods/NAMESPACE/NAME     start-up of one pod; with /trace, as a Chrome trace
/api/v1/pulls                   image pulls in progress, and recent ones
/api/v1/registries              totals of the pulls by registry
/api/v1/evidence                quality of the agent's evidence
/api/v1/objects/pods            pod objects, with --serve-objects
/api/v1/stream                  changes as Server-Sent Events
/debug/observations             latest observations as a recording; over loopback only
/debug/pprof/heap               profiles of the agent, with --debug-profiles; over loopback only
`

func index(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, indexText) }
