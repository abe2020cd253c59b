package cri

import (
	"context"
	"strings"
	"sync"
	"time"

	imagesapi "github.com/containerd/containerd/api/services/images/v1"
	"github.com/opencontainers/go-digest"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// pinnedFilter selects the images that containerd's CRI plugin keeps from being removed: the sandbox (pause) image, and what
// an administrator has pinned (containerd 1.7 and later, internal/cri/labels).
const pinnedFilter = `labels."io.cri-containerd.pinned"==pinned`

// shortStart is how long a sandbox takes at most from its beginning to the sandbox container if no image is pulled in
// between, as a rule. Only for slower ones is the runtime asked for its images again.
const shortStart = 100 * time.Millisecond

// sandboxImage is what is known of the sandbox image; safe for concurrent use.
type sandboxImage struct {
	mu       sync.Mutex
	pulledAt time.Time // when the latest pull that began without it ended; zero while that is not known
	digest   digest.Digest
}

// pulledBefore says that the sandbox image has been on the node since before an instant. It is pinned, so that nothing but
// an administrator removes it.
func (s *sandboxImage) pulledBefore(at time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.pulledAt.IsZero() && s.pulledAt.Before(at)
}

// stampSandboxImage fills in whether the sandbox image was pulled between the beginning of a sandbox and its sandbox container.
// containerd pulls an absent one there, after the network is set up (2.1 and later: internal/cri/server/sandbox_run.go;
// 2.0: podsandbox/sandbox_run.go).
func (l *lookUp) stampSandboxImage(ctx context.Context, stamps *sandboxStamps, createdAt time.Time) error {
	if stamps.begunAt.IsZero() || createdAt.IsZero() || !l.stores.images.on() {
		return nil
	}
	if createdAt.Sub(stamps.begunAt) < shortStart && l.sandboxImage.pulledBefore(stamps.begunAt) {
		stamps.imageKnown = true
		return nil
	}
	pinned, err := l.client.pinnedImages(ctx)
	if status.Code(err) == codes.Unimplemented {
		return nil
	}
	if err != nil {
		return ifBroken(err)
	}
	image := pickSandboxImage(pinned)
	if image == nil {
		return nil
	}
	pulledAt, blob := fromTimestamp(image.GetCreatedAt()), digest.Digest(image.GetTarget().GetDigest())
	if pulledAt.IsZero() {
		return nil
	}
	l.sandboxImage.mu.Lock()
	l.sandboxImage.pulledAt, l.sandboxImage.digest = pulledAt, blob
	l.sandboxImage.mu.Unlock()
	stamps.imageKnown = true
	if !pulledAt.After(stamps.begunAt) || pulledAt.After(createdAt) {
		return nil
	}
	stamps.imagePulledAt = pulledAt
	if blob.Validate() != nil {
		return nil
	}
	info, err := l.blob(ctx, blob)
	if err != nil {
		return ifBroken(err)
	}
	if resolvedAt := fromTimestamp(info.GetCreatedAt()); resolvedAt.After(stamps.begunAt) && resolvedAt.Before(pulledAt) {
		stamps.imageResolvedAt = resolvedAt
	}
	return nil
}

// pickSandboxImage is the only name that is pinned, or the one of several that is called pause; nil where that leaves a
// doubt. One image has up to three names, which share its digest.
func pickSandboxImage(pinned []*imagesapi.Image) (picked *imagesapi.Image) {
	pick := func(fits func(name string) bool) (image *imagesapi.Image, single bool) {
		single = true
		for _, candidate := range pinned {
			switch {
			case !fits(candidate.GetName()):
			case image == nil:
				image = candidate
			case image.GetTarget().GetDigest() != candidate.GetTarget().GetDigest():
				single = false
			case fromTimestamp(candidate.GetCreatedAt()).Before(fromTimestamp(image.GetCreatedAt())):
				image = candidate // the first name that a pull writes
			}
		}
		return image, single && image != nil
	}
	if image, single := pick(func(string) bool { return true }); single {
		return image
	}
	image, single := pick(func(name string) bool {
		repository, _, _ := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], ":")
		return strings.Contains(repository, "pause")
	})
	if !single {
		return nil
	}
	return image
}
