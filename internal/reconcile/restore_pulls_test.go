package reconcile

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestUnpackWaitsAcrossRestart restores a pull during which the runtime unpacked a layer before the restart. The state
// does not show whether another pod's pull was running at that time.
func TestUnpackWaitsAcrossRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, began := &fakeSaver{}, time.Now()
		after := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
		_, observe, kill := startRestored(t, &desk{}, k, Restored{})
		observe(timeline.PodSeen{ArrivedAt: began, Live: true, Pod: object()})
		observe(timeline.RuntimeSeen{UID: "uid-1", QueriedAt: began, ArrivedAt: began,
			Images:    []timeline.Image{{Ref: "cold"}},
			Sandboxes: []timeline.Sandbox{{ID: "s", Ready: true, CreatedAt: began}}})
		time.Sleep(time.Second)
		observe(event("uid-1", "Pulling", `Pulling image "cold"`))
		time.Sleep(20 * time.Second)
		kill()

		r, observe, stop := startRestored(t, &desk{}, &fakeSaver{}, Restored{InFlight: k.kept})
		defer stop()
		time.Sleep(2 * time.Second)
		observe(event("uid-1", "Pulled",
			`Successfully pulled image "cold" in 22s (22s including waiting). Image size: 5 bytes.`))
		observe(timeline.RuntimeSeen{UID: "uid-1", QueriedAt: time.Now(), ArrivedAt: time.Now(),
			Images: []timeline.Image{{Ref: "cold", Present: true, FirstPulledAt: after(23), PulledAt: after(23),
				ResolvedAt: after(2), Layered: true, Layers: []timeline.Layer{
					{Digest: "a", DownloadedAt: after(5), UnpackedAt: after(15)},
					{Digest: "b", DownloadedAt: after(22), UnpackedAt: after(23)}}}}})
		report, err := r.Some(t.Context(), []string{"uid-1"})
		if err != nil || len(report) != 1 {
			t.Fatalf("%+v, %v", report, err)
		}
		if !slices.ContainsFunc(report[0].Phases, func(s timeline.Span) bool {
			return s.Phase == timeline.PhaseImagePull && s.StartAt.Equal(after(5)) && s.EndAt.Equal(after(15))
		}) {
			t.Errorf("the phases are %+v", report[0].Phases)
		}
	})
}
