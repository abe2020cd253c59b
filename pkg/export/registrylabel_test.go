package export

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// A node is long up, and many registries were pulled from once, before most pulls come from a new one.
func TestTheMostUsedRegistriesHaveLabels(t *testing.T) {
	l := newRegistryLabels()
	for i := range 3 * maxCandidates {
		l.label(fmt.Sprintf("once-%d.example", i))
	}
	own := 0
	for range 100 {
		for i := range maxRegistries {
			name := fmt.Sprintf("often-%d.example", i)
			if label, _ := l.label(name); label == name {
				own++
			}
		}
	}
	if own < 90*maxRegistries {
		t.Errorf("of %d pulls %d had their registry's label", 100*maxRegistries, own)
	}
	for i := range 20 * maxCandidates { // somebody invents names
		if label, lost := l.label(fmt.Sprintf("invented-%d.example", i)); label != registryOther {
			t.Fatalf("an invented name after %d others has a label of its own, taken from %s", i, lost)
		}
		if i%10 == 0 {
			for n := range maxRegistries {
				l.label(fmt.Sprintf("often-%d.example", n))
			}
		}
	}
	if len(l.counted) > maxCandidates {
		t.Errorf("%d registries are counted", len(l.counted))
	}
	for _, registry := range []string{"", imagepull.UnknownRegistry} {
		if label, _ := l.label(registry); label != imagepull.UnknownRegistry {
			t.Errorf("%q is labelled %s", registry, label)
		}
	}
}

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
		pull := timeline.Pull{Registry: registry, Kind: timeline.KindMain, Outcome: imagepull.OutcomeDownloaded, Timed: true, QueueTimed: true, Layers: []timeline.Layer{{Digest: "d", SizeBytes: 5}}}
		if random.IntN(4) == 0 {
			pull = timeline.Pull{Registry: registry, Kind: timeline.KindMain, Outcome: imagepull.OutcomeFailed}
		}
		m.observePull(timeline.Timeline{}, pull, nil)
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
		if len(registries) > 4*(maxRegistries+1) {
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
				all[family.GetName()+" "+name] = metric.GetCounter().GetValue() + float64(metric.GetHistogram().GetSampleCount())
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

func TestLabelsOfAMoment(t *testing.T) {
	var registries []string
	for i := range 2 * maxRegistries {
		registries = append(registries, fmt.Sprintf("once-%02d", i))
	}
	registries = append(registries, "twice", "twice", "", imagepull.UnknownRegistry)
	label := momentLabels(registries)
	for registry, want := range map[string]string{"twice": "twice", "once-00": "once-00", "once-31": registryOther, "": imagepull.UnknownRegistry,
		imagepull.UnknownRegistry: imagepull.UnknownRegistry, fmt.Sprintf("once-%02d", maxRegistries-2): fmt.Sprintf("once-%02d", maxRegistries-2),
		fmt.Sprintf("once-%02d", maxRegistries-1): registryOther} {
		if got := label(registry); got != want {
			t.Errorf("%q is labelled %s, want %s", registry, got, want)
		}
	}
}
