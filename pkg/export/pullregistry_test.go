package export

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/podlapse/podlapse/internal/registrylabel"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestSeriesOfRegistriesNeverDecrease checks that no series decreases for any sequence of pulls, and that the
// number of series is limited.
func TestSeriesOfRegistriesNeverDecrease(t *testing.T) {
	gatherer := prometheus.NewPedanticRegistry()
	m := newPullMetrics(gatherer)
	random := rand.New(rand.NewPCG(1, 2))
	before := map[string]float64{}
	vanished := 0
	for n := range 4000 {
		// The most used registries change over time.
		registry := fmt.Sprintf("r%d.example", n/500*7+int(random.ExpFloat64()*8))
		pull := timeline.Pull{Registry: registry, Kind: timeline.KindMain, Outcome: imagepull.OutcomeDownloaded,
			Confirmed: random.IntN(8) > 0, Timed: true, QueueTimed: true, StartedAt: after(0),
			DownloadedAt: after(time.Second), Layers: []timeline.Layer{{Digest: "d", SizeBytes: 5}}}
		if random.IntN(4) == 0 {
			pull = timeline.Pull{Registry: registry, Kind: timeline.KindMain, Outcome: imagepull.OutcomeFailed}
		}
		m.observePull(timeline.Timeline{Namespace: fmt.Sprint(random.IntN(4))}, pull, nil)
		if n%5 != 0 {
			continue
		}
		now := registrySeries(t, gatherer)
		registries := map[string]bool{}
		for series, value := range now {
			if old, known := before[series]; known && value < old {
				t.Fatalf("after %d pulls %s went from %v to %v", n, series, old, value)
			}
			registries[series] = true
		}
		for series := range before {
			if _, there := now[series]; !there {
				vanished++
			}
		}
		if len(registries) > 8*(registrylabel.Max+1) {
			t.Fatalf("%d series", len(registries))
		}
		before = now
	}
	if vanished == 0 {
		t.Error("no registry lost its label, so the test proves nothing")
	}
}

// registrySeries returns the values of all series with the label "registry". The value of a histogram is its number of
// observations.
func registrySeries(t *testing.T, gatherer prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := gatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if name, ok := registryOf(metric); ok {
				all[family.GetName()+" "+name] = metric.GetCounter().GetValue() +
					float64(metric.GetHistogram().GetSampleCount())
			}
		}
	}
	return all
}

func registryOf(metric *dto.Metric) (string, bool) {
	for _, label := range metric.GetLabel() {
		if label.GetName() == "registry" {
			return label.GetValue(), true
		}
	}
	return "", false
}

// confirmedPull is a pull that the runtime confirms.
func confirmedPull(registry string) timeline.Pull {
	return timeline.Pull{Registry: registry, Kind: timeline.KindMain, Outcome: imagepull.OutcomeDownloaded, Timed: true,
		Confirmed: true}
}

// unconfirmedFailure is a failed pull that only an Event reports.
func unconfirmedFailure(registry string) timeline.Pull {
	return timeline.Pull{Registry: registry, Kind: timeline.KindMain, Outcome: imagepull.OutcomeFailed}
}

// registryLabels returns the values of the label "registry".
func registryLabels(t *testing.T, gatherer prometheus.Gatherer) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for series := range registrySeries(t, gatherer) {
		_, registry, _ := strings.Cut(series, " ")
		all[registry] = true
	}
	return all
}

// TestInventedHostsDisplaceNoRegistry creates a tenant's pods. Their image references name many hosts, but none of
// these hosts exists. Forged Events report that the hosts provided the images.
func TestInventedHostsDisplaceNoRegistry(t *testing.T) {
	gatherer := prometheus.NewPedanticRegistry()
	m := newPullMetrics(gatherer)
	pull := func(namespace string, p timeline.Pull) {
		m.observePull(timeline.Timeline{Namespace: namespace}, p, nil)
	}
	var real []string
	for i := range registrylabel.Max - 1 {
		real = append(real, fmt.Sprintf("real-%d.example", i))
		for range 3 {
			pull("shop", confirmedPull(real[i]))
		}
	}
	for n := range 10_000 {
		p := unconfirmedFailure(fmt.Sprintf("invented-%d.example", n%20))
		if n%2 == 0 {
			p = confirmedPull(p.Registry)
			p.Confirmed = false // only an Event reports the pull
		}
		pull(fmt.Sprintf("tenant-%d", n%7), p)
		if n%100 == 0 {
			pull("shop", confirmedPull(real[n/100%len(real)]))
		}
	}
	labels := registryLabels(t, gatherer)
	for _, registry := range real {
		if !labels[registry] {
			t.Errorf("%s has no label of its own: %v", registry, labels)
		}
	}
}

// TestRegistryDownFromTheStartIsNamed checks a registry that is unavailable from the start, while one namespace
// invents hosts. The registry must get a label and keep the label after it recovers.
func TestRegistryDownFromTheStartIsNamed(t *testing.T) {
	gatherer := prometheus.NewPedanticRegistry()
	m := newPullMetrics(gatherer)
	pull := func(namespace string, p timeline.Pull) {
		m.observePull(timeline.Timeline{Namespace: namespace}, p, nil)
	}
	for n := range 1000 {
		pull("tenant", unconfirmedFailure(fmt.Sprintf("invented-%d.example", n%20)))
	}
	for i := range 2 {
		pull("shop", confirmedPull(fmt.Sprintf("real-%d.example", i)))
	}
	pull("shop", unconfirmedFailure("down.example"))
	if labels := registryLabels(t, gatherer); !labels["down.example"] {
		t.Errorf("the registry has no label: %v", labels)
	}
	pull("shop", confirmedPull("down.example"))
	for i := range registrylabel.Max {
		pull("shop", confirmedPull(fmt.Sprintf("real-%d.example", i)))
	}
	if labels := registryLabels(t, gatherer); !labels["down.example"] {
		t.Errorf("the registry recovered but lost its label: %v", labels)
	}
}
