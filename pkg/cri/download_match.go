package cri

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// queryDownloads returns the downloads in progress. For each blob that containerd is downloading, queryDownloads finds
// the images that need the blob. If the argument "since" is not zero, the result also contains pulls that began after
// this time and are still in progress. A pull can be in progress although containerd is downloading none of the image's
// blobs. Callers must not call queryDownloads concurrently.
func (s *session) queryDownloads(ctx context.Context, since time.Time) ([]imagepull.Download, error) {
	content := &s.responder.stores.content
	queriedAt := s.source.config.Now()
	statuses, err := s.client.listIngests(ctx)
	if err != nil {
		return nil, content.disableIfMissing(err)
	}
	running := runningIngests(statuses, s.source.config.Now())
	if len(running) == 0 && since.IsZero() {
		s.arrivedBlobs, s.receivedBefore = nil, nil
		return nil, nil
	}
	manifests := manifestsOf{running: running, since: since}
	if err := s.client.listBlobs(ctx, manifestFilters, manifests.add); err != nil {
		return nil, content.disableIfMissing(err)
	}
	listed := slices.Concat(manifests.named, manifests.unlabelled, manifests.begun)
	return s.matchDownloads(ctx, queriedAt, running, listed)
}

// matchDownloads creates a Download for each manifest whose pull is in progress. matchDownloads also creates Downloads
// for the blobs that belong to no known image. The argument "queriedAt" is the time when the agent queried the blobs
// that containerd is downloading.
func (s *session) matchDownloads(
	ctx context.Context, queriedAt time.Time, running map[digest.Digest]ingest, manifests []listedManifest,
) ([]imagepull.Download, error) {
	var found []imagepull.Download
	matched := map[digest.Digest]bool{}
	now := &downloadQuery{session: s, at: queriedAt, running: running, arrived: map[digest.Digest]time.Time{},
		received: map[digest.Digest]*receivedBytes{}, snapshotters: map[digest.Digest]string{}}
	for _, manifest := range manifests {
		image, err := s.responder.catalog.contentsOf(ctx, manifest.digest)
		if errors.Is(err, errAbsent) {
			continue
		}
		if err != nil {
			return nil, err
		}
		download, blobs, err := now.progressOf(ctx, image, manifest.begun)
		if err != nil {
			return nil, err
		}
		if download.Digest == "" {
			continue
		}
		download.ResolvedAt = manifest.updatedAt
		if len(blobs) == 0 {
			download.StartedAt = manifest.updatedAt
		}
		for blob := range blobs {
			matched[blob] = true
		}
		download.Registry, download.Repository = manifest.registry, manifest.repository
		found = append(found, download)
	}
	s.arrivedBlobs, s.receivedBefore = now.arrived, now.received
	found = append(found, unmatchedDownloads(running, matched)...)
	slices.SortFunc(found, func(a, b imagepull.Download) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.Digest, b.Digest))
	})
	return found, nil
}

// unmatchedDownloads returns downloads for the blobs that belong to no known image. If a blob without a known image is
// a manifest, the other blobs of its image are not known yet. Therefore, each manifest becomes a separate Download. All
// other blobs without a known image become one Download together.
func unmatchedDownloads(running map[digest.Digest]ingest, matched map[digest.Digest]bool) []imagepull.Download {
	var found []imagepull.Download
	var rest imagepull.Download
	known := true
	for blob, i := range running {
		switch {
		case matched[blob]:
		case i.manifest:
			found = append(found, imagepull.Download{Digest: blob.String(), StartedAt: i.startedAt, Blobs: 1})
		default:
			rest.Blobs++
			rest.DoneBytes += i.done
			rest.TotalBytes += i.total
			rest.StartedAt = earlierOf(rest.StartedAt, i.startedAt)
			known = known && i.total > 0
		}
	}
	if !known {
		rest.TotalBytes = 0
	}
	if rest.Blobs > 0 {
		found = append(found, rest)
	}
	return found
}

// earlierOf returns the earlier of two times. If one of the times is zero, earlierOf returns the other time.
func earlierOf(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func laterOf(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
