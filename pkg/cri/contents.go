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

// imageContents lists the parts of an image. The list never changes, because the image's digest determines the parts.
type imageContents struct {
	manifest digest.Digest // empty if the image is invalid
	config   blob
	layers   []layer // the bottom layer first, at most maxLayers
	// complete is true if containerd's store had the image's config, and the config was not corrupt. Without the
	// config, the chain IDs are unknown.
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

// catalog reads the list of an image's parts (imageContents) from containerd's store, and caches this list. catalog is
// safe for concurrent use.
type catalog struct {
	// readBlob returns errAbsent if the blob is absent at the moment. readBlob can also return errTooLarge or
	// errCorrupt, like client.readBlob. Any other error means that the runtime did not respond.
	readBlob func(context.Context, digest.Digest) ([]byte, error)
	machine  platforms.MatchComparer
	known    *lru.Cache // imageContents of complete images and of invalid images, by digest of the index or manifest
}

var errAbsent = errors.New("the content is not in containerd's store")

// contentsOf returns the list of an image's parts. For an invalid image, the list is empty. If the list is not in the
// cache, and the store has no manifest of the image for this machine, contentsOf returns errAbsent.
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

// resolve reads the list of an image's parts from the store. If the target is an index, resolve continues with a
// manifest of this index. The argument "depth" limits the levels of nested indexes, because an untrusted image can have
// any number of levels.
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

// describeManifest returns the parts that a manifest lists. The chain IDs of the layers come from the image's config.
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
		return found, nil // for example, the manifest describes an artifact that is not an image
	}
	for i, chainID := range d.chainIDs(diffIDs) {
		if i < len(found.layers) {
			found.layers[i].chainID = chainID
		}
	}
	return found, nil
}
