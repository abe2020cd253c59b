package registry

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
)

// Control returns the HTTP handler through which scenarios control the registry:
//
//	GET    /healthz                  200 when the registry serves
//	GET    /rules                    the active rules
//	PUT    /rules                    replace all rules with a JSON list of Rule
//	GET    /log?repository=PATTERN   the requests for matching repositories, a JSON list of Access
//	DELETE /blobs?repository=PATTERN remove the blobs of matching repositories
func (s *Server) Control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(response http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintln(response, "ok")
	})
	mux.HandleFunc("GET /rules", func(response http.ResponseWriter, _ *http.Request) {
		writeJSON(response, s.rules.list())
	})
	mux.HandleFunc("PUT /rules", func(response http.ResponseWriter, request *http.Request) {
		var next []Rule
		if err := json.NewDecoder(http.MaxBytesReader(response, request.Body, 1<<20)).Decode(&next); err != nil {
			http.Error(response, fmt.Sprintf("parse rules: %v", err), http.StatusBadRequest)
			return
		}
		if err := s.rules.replaceRules(next); err != nil {
			http.Error(response, err.Error(), http.StatusBadRequest)
		}
	})
	mux.HandleFunc("GET /log", withPattern(func(response http.ResponseWriter, pattern string) {
		writeJSON(response, s.accesses.requestsFor(pattern))
	}))
	mux.HandleFunc("DELETE /blobs", withPattern(func(_ http.ResponseWriter, pattern string) {
		s.blobs.forget(pattern)
	}))
	return mux
}

func withPattern(handle func(http.ResponseWriter, string)) http.HandlerFunc {
	return func(response http.ResponseWriter, request *http.Request) {
		pattern := request.URL.Query().Get("repository")
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			http.Error(response, fmt.Sprintf("invalid parameter repository=%q: must be a non-empty pattern in the "+
				"syntax of Go's path.Match, for example podlapse-lab/*", pattern), http.StatusBadRequest)
			return
		}
		handle(response, pattern)
	}
}

func writeJSON(response http.ResponseWriter, value any) {
	response.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(response).Encode(value)
}
