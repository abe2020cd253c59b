package cri

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	imagesapi "github.com/containerd/containerd/api/services/images/v1"
	"github.com/opencontainers/go-digest"
)

// pinnedFilter selects the images that containerd's CRI plugin protects from removal: the sandbox
// (pause) image, and images that an administrator pinned (containerd 1.7 and later,
// internal/cri/labels).
const pinnedFilter = `labels."io.cri-containerd.pinned"==pinned`

// shortStart is the usual longest time from the beginning of a sandbox to its sandbox container if
// no image is pulled in between. The runtime's images are queried again only for slower sandboxes.
const shortStart = 100 * time.Millisecond

// sandboxImage holds what is known about the sandbox image. It is safe for concurrent use.
type sandboxImage struct {
	mu       sync.Mutex
	pulledAt time.Time // when the latest pull that began without it ended; zero while unknown
}

func (s *sandboxImage) pulled(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pulledAt = at
}

// pulledBefore reports whether the sandbox image has been on the node since before an instant. The
// image is pinned, so only an administrator removes it.
func (s *sandboxImage) pulledBefore(at time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.pulledAt.IsZero() && s.pulledAt.Before(at)
}

// stampSandboxImage sets whether the sandbox image was pulled between the beginning of a sandbox
// and its sandbox container. containerd pulls an absent image there, after the network is set up
// (2.1 and later: internal/cri/server/sandbox_run.go; 2.0: podsandbox/sandbox_run.go).
func (l *lookUp) stampSandboxImage(ctx context.Context, stamps *sandboxStamps, createdAt time.Time) error {
	if stamps.begunAt.IsZero() || createdAt.IsZero() || !l.stores.images.on() {
		return nil
	}
	if createdAt.Sub(stamps.begunAt) < shortStart && l.sandboxImage.pulledBefore(stamps.begunAt) {
		stamps.imageKnown = true
		return nil
	}
	pinned, err := l.client.pinnedImages(ctx)
	if err != nil {
		return ifBroken(err)
	}
	candidates := sandboxImages(pinned)
	if len(candidates) == 0 {
		return nil // the name is unknown, or the image was removed since
	}
	stamps.imageKnown = true
	latest := candidates[len(candidates)-1]
	l.sandboxImage.pulled(fromTimestamp(latest.GetCreatedAt()))
	for _, image := range candidates {
		pulledAt := fromTimestamp(image.GetCreatedAt())
		if !pulledAt.After(stamps.begunAt) || pulledAt.After(createdAt) {
			continue
		}
		stamps.imagePulledAt = pulledAt
		return l.stampResolved(ctx, stamps, digest.Digest(image.GetTarget().GetDigest()))
	}
	return nil
}

// stampResolved sets when the manifest of the sandbox image arrived, if that was while the sandbox
// was created.
func (l *lookUp) stampResolved(ctx context.Context, stamps *sandboxStamps, blob digest.Digest) error {
	if blob.Validate() != nil {
		return nil
	}
	info, err := l.blob(ctx, blob)
	if err != nil {
		return ifBroken(err)
	}
	resolvedAt := fromTimestamp(info.GetCreatedAt())
	if resolvedAt.After(stamps.begunAt) && resolvedAt.Before(stamps.imagePulledAt) {
		stamps.imageResolvedAt = resolvedAt
	}
	return nil
}

// isPause reports whether the name of an image is one that distributions give their sandbox image:
// pause, mirrored-pause, pause-amd64 …
func isPause(name string) bool {
	repository, _, _ := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], "@")
	repository, _, _ = strings.Cut(repository, ":")
	return strings.HasSuffix(repository, "pause") || strings.HasPrefix(repository, "pause-") ||
		repository == "pod-infra-container"
}

// sandboxImages returns the pinned images that may be the sandbox image, in the order of their arrival: those called
// pause, or all if none is. An upgrade leaves the image of the previous version, and one image has up to three names.
func sandboxImages(pinned []*imagesapi.Image) []*imagesapi.Image {
	candidates := slices.DeleteFunc(slices.Clone(pinned), func(image *imagesapi.Image) bool {
		return !isPause(image.GetName())
	})
	if len(candidates) == 0 {
		candidates = slices.Clone(pinned)
	}
	candidates = slices.DeleteFunc(candidates, func(image *imagesapi.Image) bool {
		return fromTimestamp(image.GetCreatedAt()).IsZero()
	})
	slices.SortStableFunc(candidates, func(a, b *imagesapi.Image) int {
		return fromTimestamp(a.GetCreatedAt()).Compare(fromTimestamp(b.GetCreatedAt()))
	})
	return candidates
}
