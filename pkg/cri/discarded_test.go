package cri

import (
	"path/filepath"
	"testing"

	"github.com/podlapse/podlapse/internal/critest"
)

// The manifest of the latest pull shows whether the option discard_unpacked_layers is on.
func TestDiscardOption(t *testing.T) {
	older := critest.Layers{Source: "docker.io/library/older", Names: []string{"a"}, Size: 10, At: second(1)}
	newer := critest.Layers{Source: "docker.io/library/newer", Names: []string{"b"}, Size: 10, At: second(2)}
	discards := func(image critest.Layers) critest.Layers { image.Discard = true; return image }
	indexed := func(image critest.Layers) critest.Layers { image.Indexed = true; return image }
	for name, test := range map[string]struct {
		images []critest.Layers
		want   string
	}{
		"no image":                      {nil, ""},
		"the option is off":             {[]critest.Layers{older, indexed(newer)}, ""},
		"the option is on":              {[]critest.Layers{discards(older), indexed(discards(newer))}, discardedLayers},
		"the option was off until then": {[]critest.Layers{older, discards(newer)}, discardedLayers},
		"the option was on until then":  {[]critest.Layers{discards(older), newer}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			fake := critest.Start(t, filepath.Join(t.TempDir(), "c.sock"), critest.Options{})
			for _, image := range test.images {
				fake.PutLayers(image)
			}
			endpoint, err := ParseEndpoint(fake.Endpoint())
			if err != nil {
				t.Fatal(err)
			}
			if _, _, limits, err := Probe(t.Context(), endpoint); err != nil || limits != test.want {
				t.Errorf("limits = %q, %v, want %q", limits, err, test.want)
			}
		})
	}
}

// If no image was on the node when the session began, the first pull shows the option.
func TestPullShowsDiscardOption(t *testing.T) {
	fake := critest.Start(t, filepath.Join(t.TempDir(), "c.sock"), critest.Options{})
	l, _ := newResponder(t, fake)
	image := layersABC
	image.Discard = true
	putPulled(fake, "overlayfs", image)
	layersOf(t, l, "app")
	if limits := l.stores.describeLimits(); limits != discardedLayers {
		t.Errorf("limits = %q, want %q", limits, discardedLayers)
	}
}
