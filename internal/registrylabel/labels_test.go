package registrylabel

import (
	"fmt"
	"testing"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// The node has run for a long time and has pulled once from each of many registries. Afterwards, most pulls come
// from a new registry.
func TestMostUsedRegistriesHaveLabels(t *testing.T) {
	l := New()
	for i := range 3 * maxCandidates {
		l.Label(fmt.Sprintf("once-%d.example", i), "shop", true)
	}
	own := 0
	for range 100 {
		for i := range maxConfirmed {
			name := fmt.Sprintf("often-%d.example", i)
			if label, _ := l.Label(name, "shop", true); label == name {
				own++
			}
		}
	}
	if own < 90*maxConfirmed {
		t.Errorf("of %d pulls only %d had the label of their registry", 100*maxConfirmed, own)
	}
	for i := range 20 * maxCandidates { // invented names
		if label, lost := l.Label(fmt.Sprintf("invented-%d.example", i), "shop", true); label != otherLabel {
			t.Fatalf("after %d others, an invented name has a label, taken from %s", i, lost)
		}
		if i%10 == 0 {
			for n := range maxConfirmed {
				l.Label(fmt.Sprintf("often-%d.example", n), "shop", true)
			}
		}
	}
	if len(l.confirmed.counted) > maxCandidates || len(l.unconfirmed.counted) > maxCandidates {
		t.Errorf("counting %d and %d registries", len(l.confirmed.counted), len(l.unconfirmed.counted))
	}
	for _, registry := range []string{"", imagepull.UnknownRegistry} {
		if label, _ := l.Label(registry, "shop", true); label != imagepull.UnknownRegistry {
			t.Errorf("%q is labeled %s", registry, label)
		}
	}
}

func TestLabelsOfCurrentPulls(t *testing.T) {
	var pulls []Pull
	add := func(namespace string, registries ...string) {
		for _, registry := range registries {
			pulls = append(pulls, Pull{namespace, registry})
		}
	}
	for i := range 2 * Max {
		add("shop", fmt.Sprintf("once-%02d", i))
	}
	add("shop", "twice", "twice", "", imagepull.UnknownRegistry)
	label := OfMoment(pulls)
	for registry, want := range map[string]string{"twice": "twice", "once-00": "once-00", "once-31": otherLabel,
		"":                              imagepull.UnknownRegistry,
		imagepull.UnknownRegistry:       imagepull.UnknownRegistry,
		fmt.Sprintf("once-%02d", Max-2): fmt.Sprintf("once-%02d", Max-2),
		fmt.Sprintf("once-%02d", Max-1): otherLabel} {
		if got := label(registry); got != want {
			t.Errorf("%q is labeled %s, want %s", registry, got, want)
		}
	}
	for i := range 1000 { // one namespace invents hosts
		add("tenant", fmt.Sprintf("invented-%d", i%10))
	}
	add("other", "down")
	add("third", "down-too")
	label = OfMoment(pulls)
	for _, registry := range []string{"twice", "down", "down-too", "invented-0"} {
		if got := label(registry); got != registry {
			t.Errorf("while a namespace invents hosts, %s is labeled %s", registry, got)
		}
	}
}
