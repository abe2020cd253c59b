package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/internal/health"
)

// livez only shows that the process answers. It checks nothing else, because restarting the agent
// does not repair an API server or a runtime.
func livez(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok\n") }

// readiness serves /readyz: 200 while every required part is up, otherwise 503. Without the other parts, the agent is
// only less precise or does not record, so they are listed but do not count. As in Kubernetes, a failed check and
// ?verbose list every part.
type readiness struct {
	statuses func() []health.Status
	required []string
	briefly  bool // clients from elsewhere get no details, which can name pods
}

func (h readiness) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	list, ready := h.check(h.briefly && !isLocal(r))
	switch {
	case !ready:
		writeText(w, http.StatusServiceUnavailable, list+"readyz check failed\n")
	case r.URL.Query().Has("verbose"):
		writeText(w, http.StatusOK, list+"readyz check passed\n")
	default:
		writeText(w, http.StatusOK, "ok\n")
	}
}

func (h readiness) check(briefly bool) (list string, ready bool) {
	var lines strings.Builder
	waiting := slices.Clone(h.required)
	for _, s := range h.statuses() {
		required := slices.Contains(h.required, s.Part)
		if s.Up {
			waiting = slices.DeleteFunc(waiting, func(part string) bool { return part == s.Part })
			fmt.Fprintf(&lines, "[+]%s ok", s.Part)
		} else {
			fmt.Fprintf(&lines, "[-]%s down since %s", s.Part, s.Since.UTC().Format(time.RFC3339))
			if !required {
				lines.WriteString(" (still ready)")
			}
		}
		if s.Detail != "" && !briefly {
			lines.WriteString(": " + s.Detail)
		}
		lines.WriteString("\n")
	}
	return lines.String(), len(waiting) == 0
}
