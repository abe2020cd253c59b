package cri

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/identity"
)

// maxSize is the largest plausible size of a blob in bytes. The sum of maxEntries sizes fits into an int64, even if
// each size is maxSize.
const maxSize = 1 << 50

// document is an index or a manifest, with only the fields that the agent reads. In an index, only Manifests is set. In
// a manifest, only Config and Layers are set.
type document struct {
	Manifests limitedArray[descriptor] `json:"manifests"`
	Config    descriptor               `json:"config"`
	Layers    limitedArray[descriptor] `json:"layers"`
}

type descriptor struct {
	MediaType string        `json:"mediaType"`
	Digest    digest.Digest `json:"digest"`
	Size      int64         `json:"size"`
	Platform  *platform     `json:"platform"`
}

// imageConfig is the config of an image, with only the fields that the agent reads.
type imageConfig struct {
	RootFS struct {
		DiffIDs limitedArray[digest.Digest] `json:"diff_ids"`
	} `json:"rootfs"`
}

// parseDocument parses an index or a manifest. In the result, every digest is valid, and every size is at most maxSize.
// A size of 0 means that the size is unknown.
func parseDocument(data []byte) (document, error) {
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		return document{}, fmt.Errorf("parse manifest: %w", err)
	}
	index := len(d.Manifests) > 0
	// containerd also rejects documents that are both an index and a manifest (core/images/image.go).
	if index && (len(d.Layers) > 0 || d.Config.Digest != "") {
		return document{}, errors.New("parse manifest: the document is both an index and a manifest")
	}
	if !index {
		if err := d.Config.check(); err != nil {
			return document{}, err
		}
	}
	for _, list := range [][]descriptor{d.Manifests, d.Layers} {
		for i := range list {
			if err := list[i].check(); err != nil {
				return document{}, err
			}
		}
	}
	return d, nil
}

func (d *descriptor) check() error {
	if err := d.Digest.Validate(); err != nil {
		return fmt.Errorf("parse manifest: %w", err)
	}
	if d.Size < 0 || d.Size > maxSize {
		d.Size = 0
	}
	return nil
}

// parseDiffIDs reads the digests of the unpacked layers (diff IDs) from an image's config.
func parseDiffIDs(data []byte) ([]digest.Digest, error) {
	var c imageConfig
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("parse image config: %w", err)
	}
	for _, id := range c.RootFS.DiffIDs {
		if err := id.Validate(); err != nil {
			return nil, fmt.Errorf("parse image config: %w", err)
		}
	}
	return c.RootFS.DiffIDs, nil
}

// chainIDs returns the name of each layer's snapshot, in the order of the manifest. The argument diffIDs comes from the
// image's config. containerd unpacks only blobs with the media type of a layer. If the number of these blobs differs
// from the number of diff IDs, containerd unpacks nothing (core/unpack/unpacker.go), so chainIDs returns nil.
func (d document) chainIDs(diffIDs []digest.Digest) []digest.Digest {
	var places []int
	for i, l := range d.Layers {
		if isLayer(l.MediaType) {
			places = append(places, i)
		}
	}
	if len(places) != len(diffIDs) || len(places) == 0 {
		return nil
	}
	chain := identity.ChainIDs(slices.Clone(diffIDs))
	names := make([]digest.Digest, len(d.Layers))
	for i, place := range places {
		names[place] = chain[i]
	}
	return names
}

// isLayer reports whether a media type is the media type of a layer. isLayer corresponds to IsLayerType in containerd's
// core/images/mediatypes.go.
func isLayer(mediaType string) bool {
	return strings.HasPrefix(mediaType, "application/vnd.oci.image.layer.") ||
		strings.HasPrefix(mediaType, "application/vnd.docker.image.rootfs.") ||
		strings.HasPrefix(mediaType, "application/vnd.erofs.layer.")
}
