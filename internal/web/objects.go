package web

import (
	"net/http"

	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/filter"
)

// objects serves the cached pod objects. It compresses them as it reads them, so that the list is
// never in memory as a whole. The response has no ETag, because it contains the age of the cache.
func (a readAPI) objects(w http.ResponseWriter, r *http.Request) {
	f, ok := a.asks(w, r, []string{"namespace", "name", "labelSelector"})
	if !ok {
		return
	}
	if a.API.Objects == nil {
		writeError(w, http.StatusNotFound, "not_found",
			"pod objects are not served: start the agent with --serve-objects=on")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	err := a.API.Objects(w, func(namespace, name, labels string) bool {
		return f.Belongs(filter.Key{Namespace: namespace, Name: name}, filter.Detail{Labels: labels})
	})
	if err != nil { // the client notices, because the JSON is cut off
		a.Logger.Debug("sending pod objects failed", zap.Error(err))
		panic(http.ErrAbortHandler)
	}
}
