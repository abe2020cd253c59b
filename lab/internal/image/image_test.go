package image

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRandomLayersAreFreshAndTheBaseIsShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("program"), 0o755); err != nil {
		t.Fatal(err)
	}
	base, err := Base(path)
	if err != nil {
		t.Fatal(err)
	}
	var digests [2][]string
	for i := range digests {
		image, err := WithRandomLayers(base, 1000)
		if err != nil {
			t.Fatal(err)
		}
		layers, err := image.Layers()
		if err != nil || len(layers) != 2 {
			t.Fatalf("%d layers, %v", len(layers), err)
		}
		for _, layer := range layers {
			digest, _ := layer.Digest()
			digests[i] = append(digests[i], digest.String())
		}
		config, err := image.ConfigFile()
		if err != nil || config.OS != "linux" || len(config.Config.Entrypoint) != 1 || len(config.RootFS.DiffIDs) != 2 {
			t.Errorf("config %+v, %v", config, err)
		}
	}
	if digests[0][0] != digests[1][0] || digests[0][1] == digests[1][1] {
		t.Errorf("digests %v", digests)
	}
}
