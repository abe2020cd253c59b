package web

import (
	"fmt"
	"net/http"

	"github.com/podlapse/podlapse/pkg/api"
)

// problem is the body of every error response except the error responses of the health checks.
type problem = api.Problem

// refusal is the error of a request that the agent answers with an error response.
type refusal struct {
	status int
	problem
}

// Error implements error.
func (r *refusal) Error() string { return r.Reason }

func refuse(status int, word, reason string) error {
	return &refusal{status, problem{Error: word, Reason: reason}}
}

func badRequest(format string, args ...any) error {
	return refuse(http.StatusBadRequest, "bad_request", fmt.Sprintf(format, args...))
}

func writeError(w http.ResponseWriter, status int, word, reason string) {
	writeJSON(w, status, problem{Error: word, Reason: reason})
}

// writeRetry writes the error response of a request that might succeed one second later.
func writeRetry(w http.ResponseWriter, status int, word, reason string) {
	w.Header().Set("Retry-After", "1")
	writeError(w, status, word, reason)
}

// writeJSON encodes the value before it writes the response, so that the client receives either the whole value or an
// error. writeJSON ignores errors of the connection, because the client notices them.
func writeJSON(w http.ResponseWriter, status int, value any) {
	body, err := api.EncodeLine(value)
	if err != nil {
		status = http.StatusInternalServerError
		body = []byte(`{"error":"internal","reason":"cannot encode the response"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}
