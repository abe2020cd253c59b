package web

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/podlapse/podlapse/pkg/api"
)

// problem is the body of every error response except those of the health checks.
type problem = api.Problem

func writeError(w http.ResponseWriter, status int, word, reason string) {
	writeJSON(w, status, problem{Error: word, Reason: reason})
}

// writeRetry is writeError for requests that may succeed a moment later.
func writeRetry(w http.ResponseWriter, status int, word, reason string) {
	w.Header().Set("Retry-After", "1")
	writeError(w, status, word, reason)
}

// writeJSON encodes value before it writes, so that the client gets either the whole response or an
// error. It ignores errors of the connection: the client notices them.
func writeJSON(w http.ResponseWriter, status int, value any) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		body.Reset()
		status = http.StatusInternalServerError
		body.WriteString(`{"error":"internal","reason":"cannot encode the answer"}` + "\n")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes())
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}
