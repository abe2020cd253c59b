package image

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/empty"
)

func TestRandomLayersDifferAndBaseIsShared(t *testing.T) {
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
		cold, err := RandomLayer(1000)
		if err != nil {
			t.Fatal(err)
		}
		image, err := WithLayers(base, cold)
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

func TestManyFilesMatchTheirDiffID(t *testing.T) {
	layer, err := ManyFiles(1001)
	if err != nil {
		t.Fatal(err)
	}
	content, err := layer.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.New()
	files := 0
	for reader := tar.NewReader(io.TeeReader(content, hash)); ; {
		header, err := reader.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeReg {
			files++
		}
	}
	_, _ = io.Copy(hash, content)
	diff, err := layer.DiffID()
	if err != nil || files != 1001 || diff.Hex != hex.EncodeToString(hash.Sum(nil)) {
		t.Errorf("%d files, diff ID %s, %v", files, diff, err)
	}
}

func TestForHasOnePlatform(t *testing.T) {
	index, err := For(empty.Image, "s390x")
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 || manifest.Manifests[0].Platform.Architecture != "s390x" {
		t.Errorf("manifest %+v, %v", manifest, err)
	}
}
