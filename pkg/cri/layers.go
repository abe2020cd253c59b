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
	// snapshotLabel, followed by the snapshotter's name, is put on an image's config when all its
	// layers are unpacked (containerd, core/unpack/unpacker.go).
	snapshotLabel      = "containerd.io/gc.ref.snapshot."
	defaultSnapshotter = "overlayfs"
)

// layers adds the layers to the images whose references are wanted. All queries together take at most as long as one
// call may take, however slow the stores are: an answer without layers is valid and marked as such.
func (l *lookUp) layers(ctx context.Context, wanted []string, images []timeline.Image) error {
	ctx, cancel := context.WithTimeout(ctx, l.client.timeout)
	defer cancel()
	found := make([]contents, len(images))
	for i := range images {
		if !slices.Contains(wanted, images[i].Ref) {
			continue
		}
		images[i].Layered = true
		var err error
		if found[i], err = l.stampBlobs(ctx, &images[i]); err != nil {
			return err
		}
	}
	for i := range images { // when the last byte arrived matters more than when each layer was unpacked
		if len(found[i].layers) == 0 {
			continue
		}
		if err := untold(&images[i], l.stampSnapshots(ctx, images[i].Layers, found[i])); err != nil {
			return err
		}
	}
	return nil
}

// untold notes that an image's layers are unknown if the error only means that the store was slow or does not have an
// object. It returns any other error.
func untold(image *timeline.Image, err error) error {
	if err != nil {
		image.Incomplete = true
	}
	return inTime(err)
}

// stampBlobs sets the layers of an image on the node, and when each arrived. It omits what
// containerd does not have, or does not return before ctx ends. It fails if the connection does.
//
// The content store's created_at is when a blob was committed, and so when its download was
// complete (core/metadata/content.go).
func (l *lookUp) stampBlobs(ctx context.Context, image *timeline.Image) (contents, error) {
	target := digest.Digest(image.Digest)
	if !image.Present || target.Validate() != nil {
		return contents{}, nil
	}
	info, err := l.blob(ctx, target)
	if err != nil || info == nil {
		return contents{}, untold(image, err)
	}
	image.ResolvedAt = fromTimestamp(info.GetCreatedAt())
	found, err := l.catalog.contents(ctx, target)
	if err != nil {
		return contents{}, untold(image, err)
	}
	image.Layers = make([]timeline.Layer, len(found.layers))
	for i, layer := range found.layers {
		image.Layers[i] = timeline.Layer{Digest: layer.digest.String(), SizeBytes: layer.size}
	}
	for i, layer := range found.layers {
		info, err := l.blob(ctx, layer.digest)
		if err != nil {
			return found, untold(image, err)
		}
		image.Layers[i].DownloadedAt = fromTimestamp(info.GetCreatedAt())
	}
	return found, nil
}

// stampSnapshots sets when each layer was unpacked: a snapshot's created_at is when it was
// committed (core/metadata/snapshot.go).
func (l *lookUp) stampSnapshots(ctx context.Context, layers []timeline.Layer, found contents) error {
	snapshotter, err := l.snapshotter(ctx, found.config.digest)
	if err != nil {
		return err
	}
	for i, layer := range found.layers {
		var labels map[string]string
		if layers[i].UnpackedAt, labels, err = l.unpackedAt(ctx, snapshotter, layer.chainID); err != nil {
			return err
		}
		layers[i].Remote = mounted(labels, layers[i].DownloadedAt.IsZero())
	}
	return nil
}

// blob returns nil without an error if the blob is absent or incomplete.
func (l *lookUp) blob(ctx context.Context, blob digest.Digest) (*contentapi.Info, error) {
	if !l.stores.content.on() {
		return nil, nil
	}
	info, err := l.client.blobInfo(ctx, blob)
	return info, l.stores.content.forgive(err)
}

// readBlob is the read function of the catalog.
func (l *lookUp) readBlob(ctx context.Context, blob digest.Digest) ([]byte, error) {
	if !l.stores.content.on() {
		return nil, errAbsent
	}
	data, err := l.client.readBlob(ctx, blob)
	switch {
	case err == nil, errors.Is(err, errTooLarge), errors.Is(err, errCorrupt):
		return data, err
	case l.stores.content.forgive(err) != nil:
		return nil, err
	}
	return nil, errAbsent
}

// snapshotter returns where an image with that config is unpacked. If there are several (a runtime
// class can have its own), it is the default one, otherwise the first by name.
func (l *lookUp) snapshotter(ctx context.Context, config digest.Digest) (string, error) {
	info, err := l.blob(ctx, config)
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

// unpackedAt returns when a layer was unpacked and its snapshot's labels. The time is zero if the
// layer is not unpacked or the name of its snapshot is unknown.
func (l *lookUp) unpackedAt(
	ctx context.Context, snapshotter string, chainID digest.Digest,
) (at time.Time, labels map[string]string, err error) {
	if chainID == "" || !l.stores.snapshots.on() {
		return time.Time{}, nil, nil
	}
	info, err := l.client.snapshot(ctx, snapshotter, chainID.String())
	if err != nil || info.GetKind() != snapshotsapi.Kind_COMMITTED {
		return time.Time{}, nil, l.stores.snapshots.forgive(err)
	}
	return fromTimestamp(info.GetCreatedAt()), info.GetLabels(), nil
}

// inTime returns nil for an error that only means that the store was slow, or that it does not have
// the object.
func inTime(err error) error {
	if errors.Is(err, errAbsent) || errors.Is(err, context.DeadlineExceeded) ||
		status.Code(err) == codes.DeadlineExceeded {
		return nil
	}
	return err
}
