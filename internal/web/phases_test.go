package web

import (
	"net/http"
	"testing"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestPhases(t *testing.T) {
	got := decode[api.PhaseList](t, (&fake{}).ask(t, http.MethodGet, "/api/v1/phases")).Items
	if len(got) != len(timeline.Phases()) {
		t.Fatalf("%d phases, want %d", len(got), len(timeline.Phases()))
	}
	for _, phase := range got {
		if phase.Phase == timeline.PhasePull && (phase.Cause != timeline.CauseRegistry ||
			phase.Text != "The runtime downloads the image from the registry or its mirror.") || phase.Text == "" {
			t.Errorf("%+v", phase)
		}
	}
}
