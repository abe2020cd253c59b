package cri

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	contentapi "github.com/containerd/containerd/api/services/content/v1"
	snapshotsapi "github.com/containerd/containerd/api/services/snapshots/v1"
	"github.com/opencontainers/go-digest"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	// snapshotLabel is the prefix of a label on an image's config. The name of the snapshotter follows the prefix.
	// containerd sets the label after it has unpacked all layers (containerd, core/unpack/unpacker.go).
	snapshotLabel      = "containerd.io/gc.ref.snapshot."
	defaultSnapshotter = "overlayfs"
)

// stampLayers sets the layers of each image whose reference is in the argument "refs". All queries together take at
// most the timeout of one call. If the stores are slow, stampLayers returns no error, but marks the affected images as
// incomplete.
func (a *responder) stampLayers(ctx context.Context, refs []string, images []timeline.Image) error {
	ctx, cancel := context.WithTimeout(ctx, a.client.timeout)
	defer cancel()
	found := make([]imageContents, len(images))
	for i := range images {
		if !slices.Contains(refs, images[i].Ref) {
			continue
		}
		images[i].Layered = true
		var err error
		if found[i], err = a.stampBlobs(ctx, &images[i]); err != nil {
			return err
		}
	}
	// Query the snapshots only after the arrival times of all layers. If ctx ends during this loop, the arrival times
	// are already known.
	for i := range images {
		if len(found[i].layers) == 0 {
			continue
		}
		if err := markIncomplete(&images[i], a.stampSnapshots(ctx, &images[i], found[i])); err != nil {
			return err
		}
		a.noteMissingLayers(ctx, &images[i], found[i].manifest)
	}
	return nil
}

// markIncomplete marks an image as incomplete if err is not nil. If err means only that the store was slow or did not
// have an object, markIncomplete returns nil. markIncomplete returns every other error unchanged.
func markIncomplete(image *timeline.Image, err error) error {
	if err != nil {
		image.Incomplete = true
	}
	return ignoreSlowOrAbsent(err)
}

// stampBlobs sets the layers of an image that is on the node. For each layer, stampBlobs also sets the arrival time.
// stampBlobs omits a fact if containerd does not have the fact, or does not return it before ctx ends. stampBlobs
// returns an error if the connection fails.
//
// In the content store, created_at is the time when containerd committed the complete blob (core/metadata/content.go).
func (a *responder) stampBlobs(ctx context.Context, image *timeline.Image) (imageContents, error) {
	target := digest.Digest(image.Digest)
	if !image.Present || target.Validate() != nil {
		return imageContents{}, nil
	}
	info, err := a.blobInfo(ctx, target)
	if err != nil || info == nil {
		return imageContents{}, markIncomplete(image, err)
	}
	image.ResolvedAt = fromTimestamp(info.GetCreatedAt())
	found, err := a.catalog.contentsOf(ctx, target)
	if err != nil {
		return imageContents{}, markIncomplete(image, err)
	}
	image.Layers = make([]timeline.Layer, len(found.layers))
	for i, layer := range found.layers {
		image.Layers[i] = timeline.Layer{Digest: layer.digest.String(), SizeBytes: layer.size}
	}
	for i, layer := range found.layers {
		info, err := a.blobInfo(ctx, layer.digest)
		if err != nil {
			return found, markIncomplete(image, err)
		}
		image.Layers[i].DownloadedAt = fromTimestamp(info.GetCreatedAt())
	}
	return found, nil
}

// stampSnapshots sets the time when each layer was unpacked. The time is the created_at of the layer's snapshot.
// containerd sets created_at when it commits the snapshot (core/metadata/snapshot.go).
func (a *responder) stampSnapshots(ctx context.Context, image *timeline.Image, found imageContents) error {
	snapshotter, err := a.snapshotterOf(ctx, found.config.digest)
	if err != nil {
		return err
	}
	image.LazySnapshotter = !slices.Contains(localSnapshotters(), snapshotter)
	layers := image.Layers
	for i, layer := range found.layers {
		var labels map[string]string
		if layers[i].UnpackedAt, labels, err = a.unpackedAt(ctx, snapshotter, layer.chainID); err != nil {
			return err
		}
		layers[i].Remote = isMounted(labels, layers[i].DownloadedAt.IsZero())
	}
	return nil
}

// blobInfo returns nil without an error if the blob is absent or incomplete.
func (a *responder) blobInfo(ctx context.Context, blob digest.Digest) (*contentapi.Info, error) {
	if !a.stores.content.isEnabled() {
		return nil, nil
	}
	info, err := a.client.blobInfo(ctx, blob)
	return info, a.stores.content.tolerate(err)
}

// readBlob implements catalog.readBlob.
func (a *responder) readBlob(ctx context.Context, blob digest.Digest) ([]byte, error) {
	if !a.stores.content.isEnabled() {
		return nil, errAbsent
	}
	data, err := a.client.readBlob(ctx, blob)
	switch {
	case err == nil, errors.Is(err, errTooLarge), errors.Is(err, errCorrupt):
		return data, err
	case a.stores.content.tolerate(err) != nil:
		return nil, err
	}
	return nil, errAbsent
}

// snapshotterOf returns the name of the snapshotter that holds the image with the given config. Several snapshotters
// can hold the image, because a runtime class can have its own snapshotter. If the default snapshotter holds the image,
// the result is the default snapshotter. If only other snapshotters hold the image, the result is the snapshotter whose
// name is first in alphabetical order. If no snapshotter is known, the result is the default snapshotter.
func (a *responder) snapshotterOf(ctx context.Context, config digest.Digest) (string, error) {
	info, err := a.blobInfo(ctx, config)
	if err != nil {
		return "", err
	}
	if _, ok := info.GetLabels()[snapshotLabel+defaultSnapshotter]; ok {
		return defaultSnapshotter, nil
	}
	for _, key := range slices.Sorted(maps.Keys(info.GetLabels())) {
		if name, ok := strings.CutPrefix(key, snapshotLabel); ok && name != "" {
			return name, nil
		}
	}
	return defaultSnapshotter, nil
}

// unpackedAt returns the time when a layer was unpacked, and the labels of the layer's snapshot. The time is zero if
// the layer is not unpacked, or if the name of the snapshot is unknown.
func (a *responder) unpackedAt(
	ctx context.Context, snapshotter string, chainID digest.Digest,
) (at time.Time, labels map[string]string, err error) {
	if chainID == "" || !a.stores.snapshots.isEnabled() {
		return time.Time{}, nil, nil
	}
	info, err := a.client.snapshotInfo(ctx, snapshotter, chainID.String())
	if err != nil || info.GetKind() != snapshotsapi.Kind_COMMITTED {
		return time.Time{}, nil, a.stores.snapshots.tolerate(err)
	}
	return fromTimestamp(info.GetCreatedAt()), info.GetLabels(), nil
}

// ignoreSlowOrAbsent returns nil if err means only that the store was slow or did not have the object. For every other
// error, the result is err.
func ignoreSlowOrAbsent(err error) error {
	if errors.Is(err, errAbsent) || errors.Is(err, context.DeadlineExceeded) ||
		status.Code(err) == codes.DeadlineExceeded {
		return nil
	}
	return err
}
