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
		"an image without layers":       {[]critest.Layers{{Source: newer.Source, Discard: true, At: second(2)}}, ""},
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

// If no image was on the node when the session began, the first pull shows the option. Later responses about images
// with old labels do not change the result.
func TestPullShowsDiscardOption(t *testing.T) {
	for name, indexed := range map[string]bool{"manifest": false, "index": true} {
		t.Run(name, func(t *testing.T) {
			fake := critest.Start(t, filepath.Join(t.TempDir(), "c.sock"), critest.Options{Version: "1.7.27"})
			l, _ := newResponder(t, fake)
			require := func(want string) {
				t.Helper()
				if limits := l.stores.describeLimits(); limits != want {
					t.Errorf("limits = %q, want %q", limits, want)
				}
			}
			image := layersABC
			image.Discard, image.Indexed = true, indexed
			built := putPulled(fake, "overlayfs", image)
			layersOf(t, l, "app")
			require("when a sandbox was running")
			fake.RemoveBlob(built.Layers[1])
			layersOf(t, l, "app")
			require("when a sandbox was running or " + discardedLayers)
			putPulled(fake, "overlayfs", critest.Layers{Source: "docker.io/library/old", Names: []string{"d"}})
			layersOf(t, l, "app")
			require("when a sandbox was running or " + discardedLayers)
		})
	}
}

// A missing layer proves nothing if the manifest has labels for layers.
func TestMissingLayerIsNoDiscardOption(t *testing.T) {
	fake := critest.Start(t, filepath.Join(t.TempDir(), "c.sock"), critest.Options{})
	l, _ := newResponder(t, fake)
	built := putPulled(fake, "overlayfs", layersABC)
	fake.RemoveBlob(built.Layers[1])
	layersOf(t, l, "app")
	if limits := l.stores.describeLimits(); limits != "" {
		t.Errorf("limits = %q", limits)
	}
}
