package critest

import (
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/identity"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Layers describes an image for containerd's content store. PutLayers stores the image with the labels that a pull
// writes, but without its layers. PutLayer and Unpack add the layers.
type Layers struct {
	Source  string   // registry host and path, without a port; images with different sources have different digests
	Names   []string // names of the layers; images with the same layer name share this layer
	Size    int64    // size of each layer in bytes
	Indexed bool     // the image has an index; the first entry of the index is for another platform
	Discard bool     // the manifest has no labels for layers, as in containerd with discard_unpacked_layers
	At      time.Time
}

// Built holds the names and digests of a stored image.
type Built struct {
	Target, Manifest, Config string // digests; Target is the index or, without an index, the manifest
	Layers, ChainIDs         []string
	ConfigSize               int64
}

// LayerDigest returns the digest of the layer with the given name.
func LayerDigest(name string) string { return digest.FromString("layer " + name).String() }

// PutLayers stores an image's manifest and config. If Indexed is set, PutLayers also stores the index.
func (r *Runtime) PutLayers(l Layers) Built {
	var built Built
	image := ocispec.Image{Author: l.Source, Platform: ocispec.Platform{OS: runtime.GOOS, Architecture: runtime.GOARCH}}
	image.RootFS.Type = "layers"
	manifest := ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2},
		MediaType: ocispec.MediaTypeImageManifest}
	labels := l.sourceLabels()
	for i, name := range l.Names {
		layer := LayerDigest(name)
		built.Layers = append(built.Layers, layer)
		image.RootFS.DiffIDs = append(image.RootFS.DiffIDs, digest.FromString("diff "+name))
		manifest.Layers = append(manifest.Layers,
			ocispec.Descriptor{MediaType: ocispec.MediaTypeImageLayerGzip, Digest: digest.Digest(layer), Size: l.Size})
		if !l.Discard {
			labels[fmt.Sprintf("containerd.io/gc.ref.content.l.%d", i)] = layer
		}
	}
	for _, id := range identity.ChainIDs(append([]digest.Digest(nil), image.RootFS.DiffIDs...)) {
		built.ChainIDs = append(built.ChainIDs, id.String())
	}
	config := encode(image)
	built.Config, built.ConfigSize = r.PutBlob(Blob{Data: config, Labels: l.sourceLabels(), CreatedAt: l.At,
		UpdatedAt: l.At}), int64(len(config))
	labels["containerd.io/gc.ref.content.config"] = built.Config
	manifest.Config = ocispec.Descriptor{MediaType: ocispec.MediaTypeImageConfig, Digest: digest.Digest(built.Config),
		Size: built.ConfigSize}
	data := encode(manifest)
	built.Manifest = r.PutBlob(Blob{Data: data, Labels: labels, CreatedAt: l.At, UpdatedAt: l.At})
	built.Target = built.Manifest
	if l.Indexed {
		index := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex}
		here := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest.Digest(built.Manifest),
			Size: int64(len(data)), Platform: &image.Platform}
		other := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest.FromString("other"),
			Size: 1, Platform: &ocispec.Platform{OS: "plan9", Architecture: "mips"}}
		index.Manifests = []ocispec.Descriptor{other, here}
		built.Target = r.PutBlob(Blob{Data: encode(index), Labels: l.sourceLabels(), CreatedAt: l.At, UpdatedAt: l.At})
	}
	return built
}

// PutLayer adds one completely downloaded layer of an image to the content store. The layer has no data, because the
// agent does not read layers.
func (r *Runtime) PutLayer(built Built, i int, size int64, at time.Time) {
	r.PutBlob(Blob{Digest: built.Layers[i], Size: size, CreatedAt: at, UpdatedAt: at})
}

// Unpack adds the committed snapshot of one layer of an image. For the image's last layer, Unpack also writes the name
// of the snapshot into a label of the image's config.
func (r *Runtime) Unpack(snapshotter string, built Built, i int, at time.Time) {
	r.PutSnapshot(Snapshot{Snapshotter: snapshotter, Name: built.ChainIDs[i], CreatedAt: at})
	if i < len(built.ChainIDs)-1 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if config, ok := r.blobs[built.Config]; ok {
		config.Labels = maps.Clone(config.Labels) // a concurrent response might still read the old map
		config.Labels["containerd.io/gc.ref.snapshot."+snapshotter] = built.ChainIDs[i]
		r.blobs[built.Config] = config
	}
}

func (l Layers) sourceLabels() map[string]string {
	host, path, _ := strings.Cut(l.Source, "/")
	return map[string]string{"containerd.io/distribution.source." + host: path}
}

func encode(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // json.Marshal never fails for manifests, indexes and configs
	}
	return data
}
