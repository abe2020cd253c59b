package web

import (
	"log"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	// scrapesAtOnce limits the number of concurrent scrapes, because each scrape takes memory.
	scrapesAtOnce = 4
	// scrapePatience is the maximum time that a scrape waits for a slot. Prometheus's default timeout is 10 s, so
	// enough time remains for the response.
	scrapePatience = 6 * time.Second
	// snapshotsAtOnce limits the number of concurrent API requests, because a snapshot of a full node takes a few
	// megabytes.
	snapshotsAtOnce = 4
	// snapshotPatience is the maximum time that a request waits for a slot. The agent does not refuse a
	// request without a free slot at once, because the page sends several requests at the same time.
	snapshotPatience = 3 * time.Second
)

// newProbes registers the paths that the kubelet probes. The probed paths need no authentication.
func newProbes(config Config) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("/livez", livez)
	mux.HandleFunc("/healthz", livez) // older tools use this path
	briefly := config.LocalOnly || config.Access != nil
	mux.Handle("/readyz", readiness{statuses: config.Statuses, required: config.Required, briefly: briefly})
	return mux
}

// newReads registers all paths of the server except the paths of newProbes. Config.Access guards all these paths and
// the web page. The list of paths needs no authentication. The error response for an unknown path needs no
// authentication either.
func newReads(config Config, limits *limits, errorLog *log.Logger) http.Handler {
	metrics := promhttp.HandlerFor(config.Gatherer, promhttp.HandlerOpts{
		ErrorLog:          errorLog,
		ErrorHandling:     promhttp.ContinueOnError, // if one collector fails, serve the metrics of all others
		EnableOpenMetrics: true,
		// Compression in promhttp needs 800 KB of memory for each writer. The handler compresses the metrics with the
		// function "compressed", which needs less memory than promhttp.
		DisableCompression: true,
	})

	mux := http.NewServeMux()
	mux.Handle("/metrics", limits.atMost(newSlots(scrapesAtOnce), scrapePatience, compressed(metrics.ServeHTTP)))
	handleAPI(mux, config, limits)
	handlePage(mux, config.Page)
	mux.Handle("/debug/observations", onlyLocal(observations{latest: config.Observations, logger: config.Logger}))
	mux.Handle("/debug/pprof/{profile}", onlyLocal(newProfiles(config)))
	access := func(reads http.Handler) http.Handler { return guard(config.Access, config.Logger, reads) }
	if config.LocalOnly && config.Access == nil {
		access = func(reads http.Handler) http.Handler { return unlessLocal([]string{"/metrics"}, reads) }
	}
	return routeListed(mux, access(mux), newOpen(root(config.Page, access)))
}

// newOpen returns the handler for the path / and for unknown paths. The list of paths and the error response for an
// unknown path need no authentication. The handler in the argument "root" checks the access to the web page.
func newOpen(root http.Handler) *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("/{$}", root)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, http.StatusNotFound, "not_found", noSuchAddress)
	})
	return mux
}

const noSuchAddress = "no such path: GET / lists all paths"

const indexText = `podlapse agent

/                               the web page, for browsers
/metrics                        metrics for Prometheus
/livez, /healthz                liveness: succeeds if the agent responds
/readyz                         readiness: succeeds if all required parts are up; ?verbose lists every part
/api/v1/node                    summary of the node
/api/v1/node/startup            start-up of the node itself; requires --node-startup
/api/v1/pods                    start-ups; /api/v1/openapi.json describes the filters
/api/v1/pods/NAMESPACE/NAME     start-up of one pod; append /trace to get a Chrome trace
/api/v1/workloads/NS/KIND/NAME  start-ups of one workload on this node, and what would help
/api/v1/pulls                   image pulls in progress, and recent image pulls
/api/v1/registries              pull totals of each registry
/api/v1/totals                  totals of the start-ups in a time window
/api/v1/report                  sums of the past day by workload, image and registry
/api/v1/phases                  meaning of each phase
/api/v1/evidence                quality of the agent's evidence
/api/v1/objects/pods            pod objects; requires --serve-objects
/api/v1/stream                  changes as Server-Sent Events
/debug/observations             latest observations as a recording; only over loopback
/debug/pprof/heap               profiles of the agent; only over loopback, and requires --debug-profiles
`

func index(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, indexText) }
