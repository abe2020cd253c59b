package cri

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// The type "look" is one query for all downloads in progress.
type look struct {
	session *session
	at      time.Time // time of the query for the downloads in progress
	running map[digest.Digest]ingest
	// The field "arrived" contains the arrival times of complete blobs, for images whose pull is in progress. Later
	// queries reuse the arrival times.
	arrived map[digest.Digest]time.Time
	// The field "received" contains the received bytes of each image. The next query uses these bytes to
	// compute download rates.
	received map[digest.Digest]*received
	// The field "snapshotters" maps the digest of an image's config to the snapshotter that the config names.
	snapshotters map[digest.Digest]string
}

// progressOf returns the progress of one image, and the blobs of the image that containerd is downloading. If no pull
// of the image is in progress, progressOf returns an empty Download.
func (l *look) progressOf(
	ctx context.Context, image imageContents, begun bool,
) (imagepull.Download, map[digest.Digest]ingest, error) {
	own, err := l.ownBlobs(ctx, image)
	if err != nil {
		return imagepull.Download{}, nil, err
	}
	if len(own) == 0 {
		if over, err := l.isOver(ctx, image, begun); over || err != nil {
			return imagepull.Download{}, nil, err
		}
	}
	download := imagepull.Download{Digest: image.manifest.String(), Blobs: len(own), Complete: true}
	known := true
	// A layer can be unpacked although its blob is absent. Such a layer arrived before it was unpacked, at an unknown
	// time. unpackedAt is the latest time at which such a layer was unpacked.
	var unpackedAt time.Time
	blobs := map[digest.Digest]blobBytes{}
	for _, part := range image.parts() {
		i, runs := own[part.digest]
		if runs {
			part.size = cmp.Or(part.size, i.total)
			blobs[part.digest] = blobBytes{min(i.done, cmp.Or(part.size, i.done)), i.startedAt}
			download.StartedAt = earlierOf(download.StartedAt, i.startedAt)
			download.Complete = false
		} else if arrivedAt, err := l.arrivedAt(ctx, part.digest); err != nil {
			return imagepull.Download{}, nil, err
		} else if !arrivedAt.IsZero() {
			blobs[part.digest] = blobBytes{part.size, arrivedAt}
			download.ArrivedAt = laterOf(download.ArrivedAt, arrivedAt)
		} else if at, err := l.unpackedAt(ctx, image, part.digest); err != nil {
			return imagepull.Download{}, nil, err
		} else if !at.IsZero() {
			blobs[part.digest] = blobBytes{done: part.size}
			unpackedAt = laterOf(unpackedAt, at)
		} else {
			download.Complete = false
		}
		download.DoneBytes += blobs[part.digest].done
		download.TotalBytes += part.size
		known = known && part.size > 0
	}
	if !known {
		download.TotalBytes = 0
	}
	if !download.Complete || unpackedAt.After(download.ArrivedAt) {
		download.ArrivedAt = time.Time{}
	}
	if !download.Complete {
		download.BytesPerSecond = l.rateOf(image, own, blobs)
	}
	return download, own, nil
}

// isOver reports whether the pull of an image is over. containerd sets a label on the image's config after it has
// unpacked all layers, and isOver looks for this label. isOver also returns true if no pull began, or if the image is
// invalid. Callers must call isOver only if containerd is downloading no blob of the image.
func (l *look) isOver(ctx context.Context, image imageContents, begun bool) (bool, error) {
	if !begun || image.manifest == "" {
		return true, nil
	}
	info, err := l.session.responder.blob(ctx, image.config.digest)
	if err != nil {
		return false, err
	}
	for key := range info.GetLabels() {
		if strings.HasPrefix(key, snapshotLabel) {
			return true, nil
		}
	}
	return false, nil
}

// ownBlobs returns the blobs that containerd is downloading and that the image needs. An image does not need a blob
// that containerd has already unpacked for the image: a new download of this blob is for another image.
func (l *look) ownBlobs(ctx context.Context, image imageContents) (map[digest.Digest]ingest, error) {
	own := map[digest.Digest]ingest{}
	for _, part := range image.parts() {
		i, runs := l.running[part.digest]
		if !runs {
			continue
		}
		unpackedAt, err := l.unpackedAt(ctx, image, part.digest)
		if err != nil {
			return nil, err
		}
		if unpackedAt.IsZero() {
			own[part.digest] = i
		}
	}
	return own, nil
}

// The method "parts" returns the config and the layers of an image, each blob once.
func (c imageContents) parts() []blob {
	if c.manifest == "" {
		return nil
	}
	parts := []blob{c.config}
	seen := map[digest.Digest]bool{c.config.digest: true}
	for _, layer := range c.layers {
		if !seen[layer.digest] {
			seen[layer.digest] = true
			parts = append(parts, layer.blob)
		}
	}
	return parts
}

// arrivedAt returns the time when a blob was complete, or zero if the blob is not complete. If the blob was complete at
// the previous query, arrivedAt returns the known time and does not query the blob again. During a pull, containerd
// removes a blob only after it has unpacked the blob, so the known time stays correct.
func (l *look) arrivedAt(ctx context.Context, blob digest.Digest) (time.Time, error) {
	for _, known := range []map[digest.Digest]time.Time{l.arrived, l.session.arrived} {
		if at, ok := known[blob]; ok {
			l.arrived[blob] = at
			return at, nil
		}
	}
	info, err := l.session.responder.blob(ctx, blob)
	if err != nil || info == nil {
		return time.Time{}, err
	}
	l.arrived[blob] = fromTimestamp(info.GetCreatedAt())
	return l.arrived[blob], nil
}

// unpackedAt returns the time when a layer was unpacked, or zero if the layer is not unpacked. containerd does not
// download a layer that is already unpacked (core/unpack/unpacker.go). If the image contains the layer several times,
// unpackedAt returns the time when the last copy was unpacked. The result is zero until all copies of the layer are
// unpacked.
func (l *look) unpackedAt(ctx context.Context, image imageContents, blob digest.Digest) (last time.Time, err error) {
	for _, layer := range image.layers {
		if layer.digest != blob {
			continue
		}
		if layer.chainID == "" {
			return time.Time{}, nil
		}
		snapshotter, err := l.snapshotter(ctx, image.config.digest)
		if err != nil {
			return time.Time{}, err
		}
		at, _, err := l.session.responder.unpackedAt(ctx, snapshotter, layer.chainID)
		if err != nil || at.IsZero() {
			return time.Time{}, err
		}
		last = laterOf(last, at)
	}
	return last, nil
}

func (l *look) snapshotter(ctx context.Context, config digest.Digest) (string, error) {
	if known, ok := l.snapshotters[config]; ok {
		return known, nil
	}
	name, err := l.session.responder.snapshotter(ctx, config)
	if err == nil {
		l.snapshotters[config] = name
	}
	return name, err
}
