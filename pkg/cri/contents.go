package cri

import (
	"context"
	"errors"

	"github.com/containerd/platforms"
	"github.com/opencontainers/go-digest"
	"k8s.io/utils/lru"
)

const (
	maxContents = 256 // maximum number of cached images; each image takes at most 30 KB
	maxLayers   = 128 // maximum number of layers of an image; overlayfs in containerd cannot mount more layers
	maxIndexes  = 3   // maximum number of levels of nested indexes
	// maxTries is the maximum number of manifests of an index that the agent tries to read. containerd downloads only
	// one manifest of an index: the best match for the machine.
	maxTries = 4
)

// imageContents lists the parts of an image. The image's digest determines the contents, so the contents never
// change.
type imageContents struct {
	manifest digest.Digest // empty if the image is invalid
	config   blob
	layers   []layer // the bottom layer first, at most maxLayers
	// complete is true if the config was present. Without the config, the chain IDs are unknown.
	complete bool
}

type blob struct {
	digest digest.Digest
	size   int64 // 0 if unknown
}

type layer struct {
	blob
	chainID digest.Digest // name of the layer's snapshot; empty if unknown
}

// catalog reads and caches the contents of images. catalog is safe for concurrent use.
type catalog struct {
	// readBlob returns errAbsent if the blob is absent at the moment. Like client.readBlob, the function can also
	// return errTooLarge and errCorrupt. Any other error means that the runtime did not respond.
	readBlob func(context.Context, digest.Digest) ([]byte, error)
	machine  platforms.MatchComparer
	known    *lru.Cache // contents of complete images and of invalid images; keys: digests of indexes and manifests
}

var errAbsent = errors.New("the content is not in containerd's store")

// contentsOf returns the contents of an image. An invalid image has empty contents. contentsOf returns errAbsent if no
// manifest for this machine is present and the contents are not cached.
func (c catalog) contentsOf(ctx context.Context, target digest.Digest) (imageContents, error) {
	if known, ok := c.known.Get(target); ok {
		return known.(imageContents), nil
	}
	found, err := c.resolve(ctx, target, maxIndexes)
	if err != nil {
		return imageContents{}, err
	}
	if found.complete || found.manifest == "" {
		c.known.Add(target, found)
	}
	return found, nil
}

// resolve follows indexes to a manifest. The argument "depth" limits the nesting, because a corrupt store can contain
// cycles.
func (c catalog) resolve(ctx context.Context, target digest.Digest, depth int) (imageContents, error) {
	data, err := c.readBlob(ctx, target)
	if errors.Is(err, errTooLarge) {
		return imageContents{}, nil
	}
	if errors.Is(err, errCorrupt) {
		return imageContents{}, errAbsent
	}
	if err != nil {
		return imageContents{}, err
	}
	d, err := parseDocument(data)
	if err != nil {
		return imageContents{}, nil
	}
	if len(d.Manifests) == 0 {
		return c.describeManifest(ctx, target, d)
	}
	if depth == 0 {
		return imageContents{}, nil
	}
	fit := d.forPlatform(c.machine)
	for _, manifest := range fit[:min(len(fit), maxTries)] {
		found, err := c.resolve(ctx, manifest, depth-1)
		if !errors.Is(err, errAbsent) {
			return found, err
		}
	}
	return imageContents{}, errAbsent
}

// describeManifest returns the contents of a manifest, with the facts from the manifest's config.
func (c catalog) describeManifest(ctx context.Context, manifest digest.Digest, d document) (imageContents, error) {
	found := imageContents{manifest: manifest, config: blob{d.Config.Digest, d.Config.Size}}
	for _, l := range d.Layers[:min(len(d.Layers), maxLayers)] {
		found.layers = append(found.layers, layer{blob: blob{l.Digest, l.Size}})
	}
	data, err := c.readBlob(ctx, d.Config.Digest)
	switch {
	case errors.Is(err, errAbsent), errors.Is(err, errCorrupt):
		return found, nil
	case errors.Is(err, errTooLarge):
		found.complete = true
		return found, nil
	case err != nil:
		return imageContents{}, err
	}
	found.complete = true
	diffIDs, err := parseDiffIDs(data)
	if err != nil {
		return found, nil // the manifest can belong to an artifact that is not an image
	}
	for i, chainID := range d.chainIDs(diffIDs) {
		if i < len(found.layers) {
			found.layers[i].chainID = chainID
		}
	}
	return found, nil
}
