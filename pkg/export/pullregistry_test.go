package export

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/podlapse/podlapse/internal/registrylabel"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Whatever is pulled, no series decreases, and there are never more than may be.
func TestSeriesOfRegistriesNeverDecrease(t *testing.T) {
	gatherer := prometheus.NewPedanticRegistry()
	m := newPullMetrics(gatherer)
	random := rand.New(rand.NewPCG(1, 2))
	before := map[string]float64{}
	vanished := 0
	for n := range 4000 {
		// The registries that are used the most change over time.
		registry := fmt.Sprintf("r%d.example", n/500*7+int(random.ExpFloat64()*8))
		pull := timeline.Pull{Registry: registry, Kind: timeline.KindMain, Outcome: imagepull.OutcomeDownloaded,
			Confirmed: random.IntN(8) > 0, Timed: true, QueueTimed: true,
			Layers: []timeline.Layer{{Digest: "d", SizeBytes: 5}}}
		if random.IntN(4) == 0 {
			pull = timeline.Pull{Registry: registry, Kind: timeline.KindMain, Outcome: imagepull.OutcomeFailed}
		}
		m.observePull(timeline.Timeline{Namespace: fmt.Sprint(random.IntN(4))}, pull, nil)
		if n%5 != 0 {
			continue
		}
		now := counters(t, gatherer)
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
		if len(registries) > 4*(registrylabel.Max+1) {
			t.Fatalf("%d series", len(registries))
		}
		before = now
	}
	if vanished == 0 {
		t.Error("no registry ever lost its label: this tests nothing")
	}
}

// counters are what counts with a registry: counters, and of histograms how much they have counted.
func counters(t *testing.T, gatherer prometheus.Gatherer) map[string]float64 {
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

// brought is a pull that the runtime confirms, failed one that nothing but a pod's image and an Event tell of.
func brought(registry string) timeline.Pull {
	return timeline.Pull{Registry: registry, Kind: timeline.KindMain, Outcome: imagepull.OutcomeDownloaded, Timed: true,
		Confirmed: true}
}

func failed(registry string) timeline.Pull {
	return timeline.Pull{Registry: registry, Kind: timeline.KindMain, Outcome: imagepull.OutcomeFailed}
}

// labeled are the values of the label registry.
func labeled(t *testing.T, gatherer prometheus.Gatherer) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for series := range counters(t, gatherer) {
		_, registry, _ := strings.Cut(series, " ")
		all[registry] = true
	}
	return all
}

// A tenant's pods name hosts that do not exist, again and again, and Events say that images came from there.
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
			pull("shop", brought(real[i]))
		}
	}
	for n := range 10_000 {
		p := failed(fmt.Sprintf("invented-%d.example", n%20))
		if n%2 == 0 {
			p = brought(p.Registry)
			p.Confirmed = false // an Event alone says so
		}
		pull(fmt.Sprintf("tenant-%d", n%7), p)
		if n%100 == 0 {
			pull("shop", brought(real[n/100%len(real)]))
		}
	}
	labels := labeled(t, gatherer)
	for _, registry := range real {
		if !labels[registry] {
			t.Errorf("%s has no label of its own: %v", registry, labels)
		}
	}
}

// A registry that is down from the start is named, while one namespace invents hosts; and it stays named when it works.
func TestRegistryDownFromTheStartIsNamed(t *testing.T) {
	gatherer := prometheus.NewPedanticRegistry()
	m := newPullMetrics(gatherer)
	pull := func(namespace string, p timeline.Pull) {
		m.observePull(timeline.Timeline{Namespace: namespace}, p, nil)
	}
	for n := range 1000 {
		pull("tenant", failed(fmt.Sprintf("invented-%d.example", n%20)))
	}
	for i := range 2 {
		pull("shop", brought(fmt.Sprintf("real-%d.example", i)))
	}
	pull("shop", failed("down.example"))
	if labels := labeled(t, gatherer); !labels["down.example"] {
		t.Errorf("it is not named: %v", labels)
	}
	pull("shop", brought("down.example"))
	for i := range registrylabel.Max {
		pull("shop", brought(fmt.Sprintf("real-%d.example", i)))
	}
	if labels := labeled(t, gatherer); !labels["down.example"] {
		t.Errorf("it works now, and lost its label: %v", labels)
	}
}
