package web

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"github.com/podlapse/podlapse/docs"
	"github.com/podlapse/podlapse/internal/filter"
	"github.com/podlapse/podlapse/internal/history"
	"github.com/podlapse/podlapse/internal/live"
	"github.com/podlapse/podlapse/internal/tally"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// API holds the data sources of the read API, except the timelines and the pulls. Only the fields Objects, Tally and
// NodeStartUp are optional.
type API struct {
	Node    string
	Agent   api.AgentRecord
	Now     func() time.Time
	Skew    func(ctx context.Context) (timeline.Skew, error)
	History *history.History
	Tally   *tally.Tally // nil if the agent keeps no sums for the report
	Live    *live.Hub
	// Objects writes a PodList with the cached pod objects for which the function "want" returns true. The argument
	// "labels" has the format of the labels in timeline.Pod. Objects is nil if the agent keeps no pod objects.
	Objects func(w io.Writer, want func(namespace, name, labels string) bool) error
	// NodeStartUp returns the record of the node's start-up, or false if the boot time is unknown. NodeStartUp
	// is nil if the agent does not follow the start-up of its node.
	NodeStartUp func() (api.NodeStartUpRecord, bool)
}

// readAPI serves the read API for the timelines.
type readAPI struct {
	Config
	viewers *shares
}

// handleAPI registers every path of the API. docs/openapi.json describes the paths of the API.
func handleAPI(mux *http.ServeMux, config Config, limits *limits) {
	a := readAPI{Config: config, viewers: newShares(viewersPerClient)}
	snapshots := newSlots(snapshotsAtOnce)
	expensive := func(serve endpoint, filters []string, others ...string) http.Handler {
		return limits.atMost(snapshots, snapshotPatience, compressed(a.handle(serve, filters, others...)))
	}
	mux.Handle("/api/v1/node", expensive(a.node, nil))
	mux.Handle("/api/v1/node/startup", expensive(a.nodeStartUp, nil))
	mux.Handle("/api/v1/pods", expensive(a.list, filter.Names(), "limit", "continue"))
	mux.Handle("/api/v1/pods/{namespace}/{name}", expensive(a.get, nil, "uid"))
	mux.Handle("/api/v1/pods/{namespace}/{name}/trace", expensive(a.trace, nil, "uid"))
	mux.Handle("/api/v1/workloads/{namespace}/{kind}/{owner}", expensive(a.serveWorkload, nil, "revision"))
	mux.Handle("/api/v1/pulls", expensive(a.pulls, []string{"namespace"}, "registry", "limit"))
	mux.Handle("/api/v1/registries", expensive(a.registries, nil))
	mux.Handle("/api/v1/totals", expensive(a.serveTotals, []string{"namespace", "since"}, "until"))
	mux.Handle("/api/v1/report", expensive(a.serveReport, []string{"namespace", "since"}, "limit", "continue"))
	mux.Handle("/api/v1/phases", expensive(a.servePhases, nil))
	mux.Handle("/api/v1/evidence", expensive(a.evidence, nil))
	mux.Handle("/api/v1/objects/pods", expensive(a.serveObjects, []string{"namespace", "name", "labelSelector"}))
	// The stream is uncompressed, because the server sends each change immediately.
	mux.HandleFunc("/api/v1/stream", a.handle(a.stream, streamFilters(), "last_event_id"))
	mux.HandleFunc("/api/v1/openapi.json", compressed(document(docs.OpenAPI)))
	mux.HandleFunc("/api/v1/records.schema.json", compressed(document(docs.RecordsSchema)))
}

// worthPacking is the minimum size of a response that the agent compresses, in bytes. A smaller response fits into one
// packet.
const worthPacking = 1024

// compressed compresses responses for clients that accept gzip. The lowest compression level uses the least CPU
// time and memory.
func compressed(handler http.HandlerFunc) http.HandlerFunc {
	pack, err := gzhttp.NewWrapper(gzhttp.MinSize(worthPacking), gzhttp.CompressionLevel(1), gzhttp.EnableZstd(false),
		gzhttp.SuffixETag(packedSuffix), gzhttp.ContentTypes([]string{"application/json", "text/plain",
			"application/openmetrics-text", "application/vnd.google.protobuf"}))
	if err != nil { // cannot happen, because these options are valid
		return handler
	}
	return pack(handler)
}

func document(text []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { responseJSON(w, r, text) }
}
