package cri

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// downloadQuery is one query for all downloads in progress.
type downloadQuery struct {
	session *session
	at      time.Time // time when the agent queried the downloads in progress
	running map[digest.Digest]ingest
	// arrived contains the arrival times of complete blobs, for the images whose pull is in progress. Later queries
	// reuse the arrival times.
	arrived map[digest.Digest]time.Time
	// received contains the number of received bytes of each image. The next query uses these numbers to compute
	// download rates.
	received map[digest.Digest]*receivedBytes
	// snapshotters caches the name of the snapshotter of each image. The key is the digest of the image's config.
	snapshotters map[digest.Digest]string
}

// progressOf returns the download progress of one image. progressOf also returns the blobs of this image that
// containerd is downloading at the moment. If no pull of the image is in progress, progressOf returns an empty
// Download.
func (q *downloadQuery) progressOf(
	ctx context.Context, image imageContents, begun bool,
) (imagepull.Download, map[digest.Digest]ingest, error) {
	own, err := q.ownBlobs(ctx, image)
	if err != nil {
		return imagepull.Download{}, nil, err
	}
	if len(own) == 0 {
		if over, err := q.isOver(ctx, image, begun); over || err != nil {
			return imagepull.Download{}, nil, err
		}
	}
	download := imagepull.Download{Digest: image.manifest.String(), Blobs: len(own), Complete: true}
	known := true
	// A layer can be unpacked although its blob is absent. The arrival time of such a layer is unknown, but the layer
	// arrived before it was unpacked. unpackedAt is the time when the last layer with an absent blob was unpacked.
	var unpackedAt time.Time
	blobs := map[digest.Digest]blobBytes{}
	for _, part := range image.blobs() {
		i, runs := own[part.digest]
		if runs {
			part.size = cmp.Or(part.size, i.total)
			blobs[part.digest] = blobBytes{min(i.done, cmp.Or(part.size, i.done)), i.startedAt}
			download.StartedAt = earlierOf(download.StartedAt, i.startedAt)
			download.Complete = false
		} else if arrivedAt, err := q.arrivedAt(ctx, part.digest); err != nil {
			return imagepull.Download{}, nil, err
		} else if !arrivedAt.IsZero() {
			blobs[part.digest] = blobBytes{part.size, arrivedAt}
			download.ArrivedAt = laterOf(download.ArrivedAt, arrivedAt)
		} else if at, err := q.unpackedAt(ctx, image, part.digest); err != nil {
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
		download.BytesPerSecond = q.rateOf(image, own, blobs)
	}
	return download, own, nil
}

// isOver reports whether the pull of an image is over. After containerd has unpacked all layers, it sets a label on the
// image's config. isOver looks for this label. isOver also returns true if no pull began (the argument "begun" is
// false), or if the image is invalid. Callers must call isOver only if containerd is downloading no blob of the image.
func (q *downloadQuery) isOver(ctx context.Context, image imageContents, begun bool) (bool, error) {
	if !begun || image.manifest == "" {
		return true, nil
	}
	info, err := q.session.responder.blobInfo(ctx, image.config.digest)
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

// ownBlobs returns the blobs that the image needs and that containerd is downloading. ownBlobs omits each layer that is
// already unpacked, because a new download of such a layer is for another image.
func (q *downloadQuery) ownBlobs(ctx context.Context, image imageContents) (map[digest.Digest]ingest, error) {
	own := map[digest.Digest]ingest{}
	for _, part := range image.blobs() {
		i, runs := q.running[part.digest]
		if !runs {
			continue
		}
		unpackedAt, err := q.unpackedAt(ctx, image, part.digest)
		if err != nil {
			return nil, err
		}
		if unpackedAt.IsZero() {
			own[part.digest] = i
		}
	}
	return own, nil
}

// blobs returns the config and the layers of an image, each blob once.
func (c imageContents) blobs() []blob {
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

// arrivedAt returns the time when a blob became complete, or zero if the blob is not complete. If the blob was already
// complete at the previous query, arrivedAt returns the known time without a new query. The known time stays correct,
// because during a pull, containerd removes a blob only after it has unpacked the blob.
func (q *downloadQuery) arrivedAt(ctx context.Context, blob digest.Digest) (time.Time, error) {
	for _, known := range []map[digest.Digest]time.Time{q.arrived, q.session.arrivedBlobs} {
		if at, ok := known[blob]; ok {
			q.arrived[blob] = at
			return at, nil
		}
	}
	info, err := q.session.responder.blobInfo(ctx, blob)
	if err != nil || info == nil {
		return time.Time{}, err
	}
	q.arrived[blob] = fromTimestamp(info.GetCreatedAt())
	return q.arrived[blob], nil
}

// unpackedAt returns the time when a layer was unpacked, or zero if the layer is not unpacked. containerd does not
// download a layer that is already unpacked (core/unpack/unpacker.go). If an image contains the same layer several
// times, unpackedAt returns the time when the last copy was unpacked, or zero if a copy is not unpacked yet.
func (q *downloadQuery) unpackedAt(
	ctx context.Context, image imageContents, blob digest.Digest,
) (last time.Time, err error) {
	for _, layer := range image.layers {
		if layer.digest != blob {
			continue
		}
		if layer.chainID == "" {
			return time.Time{}, nil
		}
		snapshotter, err := q.snapshotterOf(ctx, image.config.digest)
		if err != nil {
			return time.Time{}, err
		}
		at, _, err := q.session.responder.unpackedAt(ctx, snapshotter, layer.chainID)
		if err != nil || at.IsZero() {
			return time.Time{}, err
		}
		last = laterOf(last, at)
	}
	return last, nil
}

func (q *downloadQuery) snapshotterOf(ctx context.Context, config digest.Digest) (string, error) {
	if known, ok := q.snapshotters[config]; ok {
		return known, nil
	}
	name, err := q.session.responder.snapshotterOf(ctx, config)
	if err == nil {
		q.snapshotters[config] = name
	}
	return name, err
}
