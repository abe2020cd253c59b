package web

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/klauspost/compress/gzhttp"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/docs"
	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/health"
	"github.com/podlapse/podlapse/pkg/history"
	"github.com/podlapse/podlapse/pkg/live"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// API is what the read API needs beside the timelines and pulls; every field but Objects is required.
type API struct {
	Node      string
	Build     export.Build
	StartedAt time.Time
	Now       func() time.Time
	Skew      func(ctx context.Context) (timeline.Skew, error)
	History   *history.History
	Live      *live.Hub
	// Objects writes the cached pod objects that are wanted as a PodList; labels are as in timeline.Pod. Nil when none are kept.
	Objects func(w io.Writer, want func(namespace, name, labels string) bool) error
}

// api is the read API over the timelines.
type api struct {
	API
	timelines func(context.Context) ([]timeline.Timeline, error)
	livePulls func(context.Context) (export.LivePulls, error)
	statuses  func() []health.Status
	required  []string
	logger    *zap.Logger
}

// handleAPI lists every address of the API. docs/openapi.json describes each.
func handleAPI(mux *http.ServeMux, config Config) {
	a := api{
		API: config.API, timelines: config.Timelines, livePulls: config.Pulls, statuses: config.Statuses, required: config.Required,
		logger: config.Logger,
	}
	mux.HandleFunc("/api/v1/node", compressed(a.node))
	mux.HandleFunc("/api/v1/pods", compressed(a.list))
	mux.HandleFunc("/api/v1/pods/{namespace}/{name}", compressed(a.get))
	mux.HandleFunc("/api/v1/pods/{namespace}/{name}/trace", compressed(a.trace))
	mux.HandleFunc("/api/v1/pulls", compressed(a.pulls))
	mux.HandleFunc("/api/v1/registries", compressed(a.registries))
	mux.HandleFunc("/api/v1/evidence", compressed(a.evidence))
	mux.HandleFunc("/api/v1/objects/pods", compressed(a.objects))
	mux.HandleFunc("/api/v1/stream", a.stream) // each change is to go out at once
	mux.HandleFunc("/api/v1/openapi.json", compressed(document(docs.OpenAPI)))
	mux.HandleFunc("/api/v1/records.schema.json", compressed(document(docs.RecordsSchema)))
}

// worthPacking is the least answer that is compressed, in bytes: one packet or so.
const worthPacking = 1024

// compressed packs answers for who accepts that, at the least cost of time and memory.
func compressed(handler http.HandlerFunc) http.HandlerFunc {
	pack, err := gzhttp.NewWrapper(gzhttp.MinSize(worthPacking), gzhttp.CompressionLevel(1), gzhttp.EnableZstd(false),
		gzhttp.SuffixETag(packedSuffix), gzhttp.ContentTypes([]string{"application/json"}))
	if err != nil { // these options are known to be good
		return handler
	}
	return pack(handler)
}

func document(text []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { answerJSON(w, r, text) }
}
