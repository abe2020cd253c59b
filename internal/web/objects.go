package web

import (
	"net/http"

	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/filter"
)

// serveObjects serves the cached pod objects. The handler encodes and writes one pod after another. If the client
// accepts gzip, the handler also compresses each pod at once, so that memory never contains the whole uncompressed
// list. The response has no ETag, because it contains the age of the cache.
func (a readAPI) serveObjects(w http.ResponseWriter, r *http.Request, f filter.Filter) error {
	if a.API.Objects == nil {
		return refuse(http.StatusNotFound, "not_found",
			"the agent does not serve pod objects: start the agent with --serve-objects=on")
	}
	w.Header().Set("Content-Type", "application/json")
	err := a.API.Objects(w, func(namespace, name, labels string) bool {
		return f.Belongs(filter.Key{Namespace: namespace, Name: name}, filter.Detail{Labels: labels})
	})
	if err != nil { // the JSON is incomplete: abort, so that the client gets an error
		a.Logger.Debug("cannot send pod objects", zap.Error(err))
		panic(http.ErrAbortHandler)
	}
	return nil
}
