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

// pinnedFilter selects the pinned images: the sandbox (pause) image, and the images that an administrator pinned.
// containerd's CRI plugin protects pinned images from removal (containerd 1.7 and later, internal/cri/labels).
const pinnedFilter = `labels."io.cri-containerd.pinned"==pinned`

// The time from the request for a sandbox to the creation of its container is usually shorter than shortStart. If the
// runtime pulls the sandbox image, the time can be longer. The agent does not query the runtime's images if this time
// was shorter than shortStart, and the sandbox image was certainly on the node before the request.
const shortStart = 100 * time.Millisecond

// sandboxImage holds the known facts about the sandbox image. sandboxImage is safe for concurrent use.
type sandboxImage struct {
	mu       sync.Mutex
	pulledAt time.Time // latest time when a sandbox image arrived on the node; zero if unknown
}

func (s *sandboxImage) pulled(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pulledAt = at
}

// pulledBefore returns true if the agent knows that the sandbox image was on the node before the given time. After its
// arrival, the sandbox image stays on the node: the image is pinned, and only an administrator removes a pinned image.
func (s *sandboxImage) pulledBefore(at time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.pulledAt.IsZero() && s.pulledAt.Before(at)
}

// stampSandboxImage determines whether containerd pulled the sandbox image during the creation of the sandbox. If the
// image is absent, containerd pulls it after the network setup, and then creates the sandbox container (2.1 and later:
// internal/cri/server/sandbox_run.go; 2.0: podsandbox/sandbox_run.go).
func (a *responder) stampSandboxImage(ctx context.Context, stamps *sandboxStamps, createdAt time.Time) error {
	if stamps.begunAt.IsZero() || createdAt.IsZero() || !a.stores.images.isEnabled() {
		return nil
	}
	if createdAt.Sub(stamps.begunAt) < shortStart && a.sandboxImage.pulledBefore(stamps.begunAt) {
		stamps.imageKnown = true
		return nil
	}
	pinned, err := a.client.pinnedImages(ctx)
	if err != nil {
		return onlyIfBroken(err)
	}
	candidates := sandboxImages(pinned)
	if len(candidates) == 0 {
		return nil // for example, the sandbox image was removed in the meantime
	}
	stamps.imageKnown = true
	latest := candidates[len(candidates)-1]
	a.sandboxImage.pulled(fromTimestamp(latest.GetCreatedAt()))
	for _, image := range candidates {
		pulledAt := fromTimestamp(image.GetCreatedAt())
		if !pulledAt.After(stamps.begunAt) || pulledAt.After(createdAt) {
			continue
		}
		stamps.imagePulledAt = pulledAt
		return a.stampResolved(ctx, stamps, digest.Digest(image.GetTarget().GetDigest()))
	}
	return nil
}

// stampResolved sets the time when the manifest of the sandbox image arrived. If the manifest did not arrive during the
// creation of the sandbox, stampResolved sets nothing.
func (a *responder) stampResolved(ctx context.Context, stamps *sandboxStamps, blob digest.Digest) error {
	if blob.Validate() != nil {
		return nil
	}
	info, err := a.blobInfo(ctx, blob)
	if err != nil {
		return onlyIfBroken(err)
	}
	resolvedAt := fromTimestamp(info.GetCreatedAt())
	if resolvedAt.After(stamps.begunAt) && resolvedAt.Before(stamps.imagePulledAt) {
		stamps.imageResolvedAt = resolvedAt
	}
	return nil
}

// isPause reports whether an image has a pause name. A pause name is a name that a distribution uses for its sandbox
// image, such as pause, mirrored-pause or pause-amd64.
func isPause(name string) bool {
	repository, _, _ := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], "@")
	repository, _, _ = strings.Cut(repository, ":")
	return strings.HasSuffix(repository, "pause") || strings.HasPrefix(repository, "pause-") ||
		repository == "pod-infra-container"
}

// sandboxImages returns the pinned images that can be the sandbox image, in the order of their arrival. If some pinned
// images have a pause name (isPause), sandboxImages returns only these images. If no pinned image has a pause name,
// sandboxImages returns all pinned images. sandboxImages always omits images whose arrival time is unknown. Many nodes
// have several pinned images. For example, an upgrade keeps the previous version's image, and one image has up to three
// names.
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
