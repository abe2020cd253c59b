package web

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/podlapse/podlapse/pkg/export"
)

// problem is the body of every answer that is an error, save those of the health checks.
type problem = export.Problem

func writeError(w http.ResponseWriter, status int, word, reason string) {
	writeJSON(w, status, problem{Error: word, Reason: reason})
}

// writeRetry is writeError for what may work a moment later.
func writeRetry(w http.ResponseWriter, status int, word, reason string) {
	w.Header().Set("Retry-After", "1")
	writeError(w, status, word, reason)
}

// writeJSON encodes before it writes, so that an answer is whole or an error. Errors of the
// connection are the client's to notice.
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
