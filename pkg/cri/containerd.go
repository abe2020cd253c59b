package cri

import (
	"context"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// stores says which of containerd's own stores a runtime has. It starts from the runtime's version
// and is taken back when the runtime does not know the call. Each session has its own.
type stores struct {
	sandboxes degradable // containerd ≥ 2.0
	images    degradable // containerd
	content   degradable // containerd: blobs, and downloads that run
	snapshots degradable // containerd: unpacked layers
}

// storesOf trusts the version for what the stamps mean: the sandbox store exists in 1.7 as well, but
// CRI's created_at is taken before the network plugins there.
func storesOf(version *runtimeapi.VersionResponse, logger *zap.Logger) *stores {
	s := &stores{}
	s.sandboxes.name, s.sandboxes.costs = "sandboxes", "volumes, network and sandbox cannot be separated"
	s.images.name, s.images.costs = "images", "pulls are dated only by Events; without Events, the outcome of a "+
		"pull is unknown if the image was absent"
	s.content.name, s.content.costs = "content", "no layers, bytes or progress of downloads"
	s.snapshots.name, s.snapshots.costs = "snapshots", "unpacking counts as pulling"
	for _, store := range s.all() {
		store.logger = logger
	}
	containerd := version.GetRuntimeName() == "containerd"
	major, known := majorVersion(version.GetRuntimeVersion())
	s.images.enabled.Store(containerd)
	s.content.enabled.Store(containerd)
	s.snapshots.enabled.Store(containerd)
	s.sandboxes.enabled.Store(containerd && known && major >= 2)
	return s
}

func (s *stores) all() []*degradable {
	return []*degradable{&s.sandboxes, &s.images, &s.content, &s.snapshots}
}

// missing are the names of the stores that are not there, and what that costs.
func (s *stores) missing() (names, costs []string) {
	for _, store := range s.all() {
		if !store.on() {
			names, costs = append(names, store.name), append(costs, store.costs)
		}
	}
	return names, costs
}

// sandboxStamps is what containerd's sandbox store told of one sandbox.
type sandboxStamps struct {
	begunAt, runningAt             time.Time
	imageResolvedAt, imagePulledAt time.Time // of the sandbox image, if it was pulled meanwhile
	imageKnown                     bool      // whether it was is known
}

// podSandboxer is the only part of containerd that stamps sandboxes as stampSandbox expects.
// Others, such as the shims of virtual machines, make the sandbox in their own way.
const podSandboxer = "podsandbox"

// stampSandbox fills in the stamps of a sandbox of which CRI told createdAt, and whose first
// container was created at firstContainerAt, zero when there is none yet.
//
// containerd ≥ 2.0, internal/cri/server/sandbox_run.go: the store's created_at is taken before the
// network is set up, CRI's created_at when the sandbox container is created after it, and updated_at
// is written last right after that container was started. Only a change of the pod's resources
// writes it again, so the first one seen counts, and none that is later than a container.
func (l *lookUp) stampSandbox(ctx context.Context, sandbox *timeline.Sandbox, createdAt,
	firstContainerAt time.Time) error {
	sandbox.CreatedAt = createdAt
	if !l.stores.sandboxes.on() {
		return nil
	}
	stamps, known := l.stamps.get(sandbox.ID)
	if !known {
		stored, err := l.client.storedSandbox(ctx, sandbox.ID)
		switch status.Code(err) {
		case codes.OK:
		case codes.NotFound:
			return nil
		case codes.Unimplemented:
			l.stores.sandboxes.disable()
			return nil
		default:
			return ifBroken(err)
		}
		if stored.GetSandboxer() != podSandboxer {
			return nil
		}
		stamps.begunAt = fromTimestamp(stored.GetCreatedAt())
		if err := l.stampSandboxImage(ctx, &stamps, createdAt); err != nil {
			return err
		}
		if sandbox.Ready {
			stamps.runningAt = fromTimestamp(stored.GetUpdatedAt())
			l.stamps.add(sandbox.ID, stamps)
		}
	}
	if !firstContainerAt.IsZero() && stamps.runningAt.After(firstContainerAt) {
		stamps.runningAt = time.Time{}
	}
	sandbox.BegunAt, sandbox.NetworkReadyAt, sandbox.RunningAt = stamps.begunAt, createdAt, stamps.runningAt
	sandbox.ImageResolvedAt, sandbox.ImagePulledAt = stamps.imageResolvedAt, stamps.imagePulledAt
	sandbox.ImageKnown = stamps.imageKnown
	sandbox.CreatedAt = time.Time{}
	return nil
}

// stampImage fills in when the latest pull of an image that is on the node ended, and its digest.
// containerd writes the image under its full name when a pull is complete, also when nothing new came.
func (l *lookUp) stampImage(ctx context.Context, image *timeline.Image) error {
	name, err := imagepull.Normalize(image.Ref)
	if err != nil || !image.Present || !l.stores.images.on() {
		return nil // e.g. a bare image ID: there is no such name
	}
	stored, err := l.client.storedImage(ctx, name)
	switch status.Code(err) {
	case codes.OK:
		image.FirstPulledAt = fromTimestamp(stored.GetCreatedAt())
		image.PulledAt = fromTimestamp(stored.GetUpdatedAt())
		if digest := stored.GetTarget().GetDigest(); digest != "" {
			image.Digest = digest
		}
		return nil
	case codes.NotFound:
		return nil
	case codes.Unimplemented:
		l.stores.images.disable()
		return nil
	}
	return ifBroken(err)
}
