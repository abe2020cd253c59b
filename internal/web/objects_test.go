package web

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestEvidence(t *testing.T) {
	lacking := timeline.Timeline{UID: "1", Total: 3 * time.Second, Missing: []string{"x"}, LostEvents: []string{"y"},
		Reconstructed: true, Unreported: []string{"z"},
		Phases: []timeline.Span{{Phase: timeline.PhaseUnattributed, StartAt: firstStart,
			EndAt: firstStart.Add(2 * time.Second)}}}
	torn := timeline.Timeline{UID: "2", Total: time.Second, Conflicts: make([]timeline.Conflict, 2)}
	// One pod has just moved to the history, so both sources contain the pod.
	f := &fake{timelines: []timeline.Timeline{lacking}, gone: []timeline.Timeline{torn, lacking},
		statuses: []health.Status{{Part: "cri", Detail: "refused", Since: firstStart}, {Part: "pod_watch", Up: true}}}
	got := decode[api.EvidenceRecord](t, f.ask(t, http.MethodGet, "/api/v1/evidence"))
	if got.StartUps != (api.EvidenceCounts{Known: 2, Reconstructed: 1, WithConflicts: 1, WithMissing: 1,
		WithLostEvents: 1, WithUnreported: 1}) ||
		got.Total.Duration() != 4*time.Second || got.Unattributed.Duration() != 2*time.Second ||
		len(got.Parts) != 2 || got.Parts[0].Required || !got.Parts[1].Required || got.Parts[0].Detail != "refused" {
		t.Errorf("%+v", got)
	}
}

func TestObjects(t *testing.T) {
	if response := (&fake{}).ask(t, http.MethodGet, "/api/v1/objects/pods"); response.Code != http.StatusNotFound ||
		!strings.Contains(decode[problem](t, response).Reason, "--serve-objects=on") {
		t.Errorf("%d %s", response.Code, response.Body)
	}
	f := &fake{objects: func(w io.Writer, want func(namespace, name, labels string) bool) error {
		_, err := fmt.Fprintf(w, "[%t,%t,%t]", want("a", "x", "app=web"), want("b", "x", "app=web"),
			want("a", "x", "app=db"))
		return err
	}}
	response := f.ask(t, http.MethodGet, "/api/v1/objects/pods?namespace=a&labelSelector=app=web")
	if got := decode[[]bool](t, response); fmt.Sprint(got) != "[true false false]" ||
		response.Header().Get("ETag") != "" {
		t.Errorf("%v", got)
	}
}

// A truncated response must not look complete.
func TestTruncatedObjects(t *testing.T) {
	f := &fake{objects: func(w io.Writer, _ func(namespace, name, labels string) bool) error {
		_, _ = io.WriteString(w, `{"items":[`)
		return io.ErrShortWrite
	}}
	defer func() {
		if got := recover(); got != http.ErrAbortHandler {
			t.Errorf("ended with %v", got)
		}
	}()
	f.ask(t, http.MethodGet, "/api/v1/objects/pods")
}
