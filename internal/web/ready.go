package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/internal/health"
)

// livez always responds with status 200, because an agent that can respond is alive. livez does not check the API
// server or the runtime, because a restart of the agent cannot repair them.
func livez(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok\n") }

// readiness serves /readyz. The status of the response is 200 while every required part is up, and 503 at all other
// times. If an optional part is down, the agent still works, but is less precise or writes no records. As in
// Kubernetes, the response lists all parts if the check fails, or if the request has the parameter "verbose".
type readiness struct {
	statuses func() []health.Status
	required []string
	briefly  bool // if true, clients that are not local get no details, because details can contain names of pods
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
