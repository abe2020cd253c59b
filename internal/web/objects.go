package web

import (
	"net/http"

	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/filter"
)

// serveObjects serves the cached pod objects. The handler reads, compresses and writes one pod after another,
// so that memory never contains the uncompressed list. The response has no ETag, because it contains the age of the
// cache.
func (a readAPI) serveObjects(w http.ResponseWriter, r *http.Request) {
	f, ok := a.parseQuery(w, r, []string{"namespace", "name", "labelSelector"})
	if !ok {
		return
	}
	if a.API.Objects == nil {
		writeError(w, http.StatusNotFound, "not_found",
			"the agent does not serve pod objects: start the agent with --serve-objects=on")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	err := a.API.Objects(w, func(namespace, name, labels string) bool {
		return f.Belongs(filter.Key{Namespace: namespace, Name: name}, filter.Detail{Labels: labels})
	})
	if err != nil { // the client sees an error, because the JSON is incomplete
		a.Logger.Debug("cannot send pod objects", zap.Error(err))
		panic(http.ErrAbortHandler)
	}
}
