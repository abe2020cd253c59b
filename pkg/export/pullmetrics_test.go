package export

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/podlapse/podlapse/internal/registrylabel"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestPullsAreCounted(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m := NewMetrics(registry, nil)
	layers := []timeline.Layer{{Digest: "sha256:a", SizeBytes: 100}, {Digest: "sha256:b", SizeBytes: 20}}
	pull := timeline.Pull{Registry: "r.example", Outcome: imagepull.OutcomeDownloaded, Layers: layers}
	shares := pull
	shares.Shared = []bool{true, false}
	m.Observe(timeline.Timeline{Pulls: []timeline.Pull{pull}, LostEvents: []string{"Pulled/app", "Pulling/app"}})
	m.Observe(timeline.Timeline{Pulls: []timeline.Pull{shares,
		{Registry: "r.example", Outcome: imagepull.OutcomeFailed, Failure: imagepull.FailureDNS}}})
	if got := testutil.ToFloat64(m.pulls.bytes.WithLabelValues("r.example")); got != 140 {
		t.Errorf("%v bytes", got)
	}
	if got := testutil.ToFloat64(m.pulls.failures.WithLabelValues("r.example", "dns")); got != 1 {
		t.Errorf("%v failures", got)
	}
	if got := testutil.ToFloat64(m.pulls.lost.WithLabelValues("Pulled")); got != 1 {
		t.Errorf("%v lost", got)
	}
}

// TestPullsOfUnknownOutcomeAreTimed checks a pull with policy Always without a runtime. The agent does not know
// whether the pull downloaded content, but the kubelet reports the duration of the pull.
func TestPullsOfUnknownOutcomeAreTimed(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m := NewMetrics(registry, nil)
	m.Observe(timeline.Timeline{
		Pulls: []timeline.Pull{{Registry: "r.example", Outcome: imagepull.OutcomeUnknown, Timed: true,
			Pull: time.Second, FinishedAt: after(time.Second)}}})
	if n := testutil.CollectAndCount(m.pulls.pull); n != 1 {
		t.Errorf("%d series", n)
	}
}

// TestImagesWithoutPullTakeNoLabel checks that an image without evidence of a pull does not take a label of a registry.
func TestImagesWithoutPullTakeNoLabel(t *testing.T) {
	m := NewMetrics(prometheus.NewPedanticRegistry(), nil)
	pull := timeline.Pull{Outcome: imagepull.OutcomeUnknown, Registry: "r.example"}
	for range registrylabel.Max + 1 {
		pull.Registry += "x"
		m.Observe(timeline.Timeline{Pulls: []timeline.Pull{pull}})
	}
	pull.Registry, pull.FinishedAt = "pulled.example", after(time.Second)
	if got := m.pulls.registryLabel("", pull); got != "pulled.example" {
		t.Errorf("the label of the only registry with a pull is %q", got)
	}
}

func TestPullsOfEphemeralContainersAreCountedOnce(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m := NewMetrics(registry, nil)
	startUp := timeline.Timeline{State: timeline.StateReady,
		EphemeralPulls: []timeline.Pull{{Kind: timeline.KindEphemeral, Registry: "r.example",
			Outcome: imagepull.OutcomeDownloaded, Timed: true, Pull: time.Second}}}
	m.Observe(startUp) // the record of the start-up includes the ephemeral pulls
	if n := testutil.CollectAndCount(m.pulls.pull); n != 0 {
		t.Errorf("counted with the start-up: %d series", n)
	}
	m.ObserveEphemeral(startUp)
	if got := testutil.ToFloat64(m.pulls.ended.WithLabelValues("ephemeral", "downloaded")); got != 1 {
		t.Errorf("counted %v times", got)
	}
	if n := testutil.CollectAndCount(m.pulls.pull); n != 1 {
		t.Errorf("%d series", n)
	}
}
