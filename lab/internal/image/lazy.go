package image

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"github.com/containerd/stargz-snapshotter/estargz"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// WithLazyLayer returns a copy of an image with a new layer of random bytes on top. The layer has the format eStargz.
// The snapshotter stargz can mount an eStargz layer without downloading the layer first.
func WithLazyLayer(base v1.Image, size int) (v1.Image, error) {
	archive, err := archiveOf("/payload-"+fresh(), 0o644, randomBytes(size))
	if err != nil {
		return nil, err
	}
	blob, err := estargz.Build(io.NewSectionReader(bytes.NewReader(archive), 0, int64(len(archive))),
		estargz.WithCompressionLevel(gzip.NoCompression))
	if err != nil {
		return nil, fmt.Errorf("create lazy layer: %w", err)
	}
	content, err := io.ReadAll(blob)
	if closeErr := blob.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, fmt.Errorf("create lazy layer: %w", err)
	}
	layer, err := tarball.LayerFromOpener(opener(content), tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, fmt.Errorf("create lazy layer: %w", err)
	}
	// stargz mounts a layer only if an annotation contains the digest of the layer's table of contents.
	image, err := mutate.Append(base, mutate.Addendum{Layer: layer,
		Annotations: map[string]string{estargz.TOCJSONDigestAnnotation: blob.TOCDigest().String()}})
	if err != nil {
		return nil, fmt.Errorf("create image: %w", err)
	}
	return image, nil
}
