// Package image makes the lab's images from code and pushes them to its registry. Every image has the
// workload program as its first layer, which the node keeps warm, and random bytes above it, which
// are new each time and so always cold.
package image

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/podlapse/podlapse/lab/internal/workload"
)

// Base is the image that holds the workload program alone. The same program gives the same digest.
func Base(programPath string) (v1.Image, error) {
	program, err := os.ReadFile(programPath)
	if err != nil {
		return nil, fmt.Errorf("read workload program: %w", err)
	}
	layer, err := layerOf(workload.Path, 0o755, program)
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.ConfigFile(image, &v1.ConfigFile{
		Architecture: runtime.GOARCH, OS: "linux",
		Config: v1.Config{Entrypoint: []string{workload.Path}},
		RootFS: v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return nil, fmt.Errorf("configure image: %w", err)
	}
	image, err = mutate.AppendLayers(image, layer)
	if err != nil {
		return nil, fmt.Errorf("make image: %w", err)
	}
	return image, nil
}

// WithRandomLayers puts layers of the given sizes, in bytes, on top of an image. Nobody has ever
// seen their content before.
func WithRandomLayers(base v1.Image, sizes ...int) (v1.Image, error) {
	for i, size := range sizes {
		content := make([]byte, size)
		if _, err := rand.Read(content); err != nil {
			return nil, fmt.Errorf("make random layer: %w", err)
		}
		layer, err := layerOf(fmt.Sprintf("/payload-%d", i), 0o644, content)
		if err != nil {
			return nil, err
		}
		if base, err = mutate.AppendLayers(base, layer); err != nil {
			return nil, fmt.Errorf("make image: %w", err)
		}
	}
	return base, nil
}

// layerOf is an uncompressed layer of one file: its size in the registry is the file's, and the node
// spends no time on inflating what cannot be compressed anyway.
func layerOf(path string, mode int64, content []byte) (v1.Layer, error) {
	var archive bytes.Buffer
	archive.Grow(len(content) + 4096)
	writer := tar.NewWriter(&archive)
	header := &tar.Header{Typeflag: tar.TypeReg, Name: path[1:], Mode: mode, Size: int64(len(content)), ModTime: time.Unix(0, 0)}
	if err := writer.WriteHeader(header); err != nil {
		return nil, fmt.Errorf("make layer: %w", err)
	}
	if _, err := writer.Write(content); err != nil {
		return nil, fmt.Errorf("make layer: %w", err)
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("make layer: %w", err)
	}
	return static.NewLayer(archive.Bytes(), types.OCIUncompressedLayer), nil
}

// Pusher is how the lab calls itself while it pushes, so that the registry's log can tell its requests
// from a node's.
const Pusher = "podlapse-lab"

// Push uploads an image under a reference such as 127.0.0.1:25000/repository:tag.
func Push(ctx context.Context, reference string, image v1.Image) error {
	ref, err := name.ParseReference(reference, name.Insecure)
	if err != nil {
		return fmt.Errorf("push image: %w", err)
	}
	if err := remote.Write(ref, image, remote.WithContext(ctx), remote.WithUserAgent(Pusher)); err != nil {
		return fmt.Errorf("push image %s: %w", reference, err)
	}
	return nil
}
