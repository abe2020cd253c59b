package export

import (
	"fmt"
	"math/rand/v2"
	"strings"
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
		l.label(fmt.Sprintf("once-%d.example", i), "shop", true)
	}
	own := 0
	for range 100 {
		for i := range maxConfirmed {
			name := fmt.Sprintf("often-%d.example", i)
			if label, _ := l.label(name, "shop", true); label == name {
				own++
			}
		}
	}
	if own < 90*maxConfirmed {
		t.Errorf("of %d pulls %d had their registry's label", 100*maxConfirmed, own)
	}
	for i := range 20 * maxCandidates { // somebody invents names
		if label, lost := l.label(fmt.Sprintf("invented-%d.example", i), "shop", true); label != registryOther {
			t.Fatalf("an invented name after %d others has a label of its own, taken from %s", i, lost)
		}
		if i%10 == 0 {
			for n := range maxConfirmed {
				l.label(fmt.Sprintf("often-%d.example", n), "shop", true)
			}
		}
	}
	if len(l.confirmed.counted) > maxCandidates || len(l.claimed.counted) > maxCandidates {
		t.Errorf("%d and %d registries are counted", len(l.confirmed.counted), len(l.claimed.counted))
	}
	for _, registry := range []string{"", imagepull.UnknownRegistry} {
		if label, _ := l.label(registry, "shop", true); label != imagepull.UnknownRegistry {
			t.Errorf("%q is labeled %s", registry, label)
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

func TestLabelsOfAMoment(t *testing.T) {
	var pulls []momentPull
	add := func(namespace string, registries ...string) {
		for _, registry := range registries {
			pulls = append(pulls, momentPull{namespace, registry})
		}
	}
	for i := range 2 * maxRegistries {
		add("shop", fmt.Sprintf("once-%02d", i))
	}
	add("shop", "twice", "twice", "", imagepull.UnknownRegistry)
	label := momentLabels(pulls)
	for registry, want := range map[string]string{"twice": "twice", "once-00": "once-00", "once-31": registryOther,
		"":                        imagepull.UnknownRegistry,
		imagepull.UnknownRegistry: imagepull.UnknownRegistry,
		fmt.Sprintf("once-%02d", maxRegistries-2): fmt.Sprintf("once-%02d", maxRegistries-2),
		fmt.Sprintf("once-%02d", maxRegistries-1): registryOther} {
		if got := label(registry); got != want {
			t.Errorf("%q is labeled %s, want %s", registry, got, want)
		}
	}
	for i := range 1000 { // one namespace invents hosts
		add("tenant", fmt.Sprintf("invented-%d", i%10))
	}
	add("other", "down")
	add("third", "down-too")
	label = momentLabels(pulls)
	for _, registry := range []string{"twice", "down", "down-too", "invented-0"} {
		if got := label(registry); got != registry {
			t.Errorf("beside a namespace that invents hosts %s is labeled %s", registry, got)
		}
	}
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
func TestInventedHostsTakeNoLabelOfARealRegistry(t *testing.T) {
	gatherer := prometheus.NewPedanticRegistry()
	m := newPullMetrics(gatherer)
	pull := func(namespace string, p timeline.Pull) {
		m.observePull(timeline.Timeline{Namespace: namespace}, p, nil)
	}
	var real []string
	for i := range maxRegistries - 1 {
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
func TestARegistryThatIsDownFromTheStartIsNamed(t *testing.T) {
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
	for i := range maxRegistries {
		pull("shop", brought(fmt.Sprintf("real-%d.example", i)))
	}
	if labels := labeled(t, gatherer); !labels["down.example"] {
		t.Errorf("it works now, and lost its label: %v", labels)
	}
}
