package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/containerd/stargz-snapshotter/estargz"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/opencontainers/go-digest"

	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/registry"
)

// freeAddress returns a loopback address on which no process listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", layout.Address(0))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// TestPush pushes an image to a registry without a guard, and to a registry with a guard.
func TestPush(t *testing.T) {
	for name, guard := range map[string]registry.Guard{"plain": {}, "guarded": {Dir: t.TempDir()}} {
		if err := guard.Create(); err != nil {
			t.Fatal(err)
		}
		images, control := freeAddress(t), registry.Client{Address: freeAddress(t)}
		blobs := filepath.Join(t.TempDir(), "blobs")
		go func() { _ = registry.Serve(t.Context(), blobs, guard, control.Address, images) }()
		for deadline := time.Now().Add(time.Minute); control.Healthy(t.Context()) != nil; {
			if time.Now().After(deadline) {
				t.Fatalf("%s: the registry does not respond", name)
			}
			time.Sleep(10 * time.Millisecond)
		}
		if err := Push(t.Context(), guard, images+"/ns/image:1", empty.Image); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		other := registry.Guard{Dir: t.TempDir()}
		if err := other.Create(); err != nil {
			t.Fatal(err)
		}
		if err := Push(t.Context(), other, images+"/ns/image:1", empty.Image); guard.IsSet() && err == nil {
			t.Errorf("%s: a push with another login succeeds", name)
		}
	}
}

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

// TestLazyLayerCanBeMounted reads a lazy layer as the snapshotter stargz does, and as an ordinary layer.
func TestLazyLayerCanBeMounted(t *testing.T) {
	const size = 100_000
	lazy, err := WithLazyLayer(empty.Image, size)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := lazy.Manifest()
	if err != nil || len(manifest.Layers) != 1 {
		t.Fatalf("manifest %+v, %v", manifest, err)
	}
	layer, err := lazy.LayerByDigest(manifest.Layers[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	compressed, err := layer.Compressed()
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(compressed)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := estargz.Open(io.NewSectionReader(bytes.NewReader(content), 0, int64(len(content))))
	if err != nil {
		t.Fatal(err)
	}
	toc := manifest.Layers[0].Annotations[estargz.TOCJSONDigestAnnotation]
	if _, err := opened.VerifyTOC(digest.Digest(toc)); err != nil {
		t.Errorf("table of contents %q: %v", toc, err)
	}
	uncompressed, err := layer.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	hash, longest := sha256.New(), int64(0)
	for reader := tar.NewReader(io.TeeReader(uncompressed, hash)); ; {
		header, err := reader.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		longest = max(longest, header.Size)
	}
	_, _ = io.Copy(hash, uncompressed)
	diff, err := layer.DiffID()
	if err != nil || longest != size || diff.Hex != hex.EncodeToString(hash.Sum(nil)) {
		t.Errorf("the largest file has %d bytes, diff ID %s, %v", longest, diff, err)
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
