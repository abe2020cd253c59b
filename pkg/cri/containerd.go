package cri

import (
	"cmp"
	"context"
	"strings"
	"sync/atomic"
	"time"

	imagesapi "github.com/containerd/containerd/api/services/images/v1"
	"go.uber.org/zap"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// storeSet records which of containerd's own stores the runtime provides. At first, the runtime's name and version
// determine which stores are enabled. If the runtime does not implement the API of a store, the agent disables the
// store. Each session has its own storeSet.
type storeSet struct {
	// unstamped is true if the agent knows that the runtime is containerd before 2.0, or is not containerd.
	// Such runtimes have no sandbox store with usable timestamps.
	unstamped bool
	// networkFirst is true if the runtime calls the network plugin before it pulls an absent sandbox image. containerd
	// 2.0 and later use this order (internal/cri/server/sandbox_run.go).
	networkFirst bool
	sandboxes    degradable // containerd ≥ 2.0
	// containers is the container store of containerd 1.6.15 to 1.7. For each sandbox, this store has a record of the
	// sandbox container (pause container). See stampFromContainer.
	containers degradable
	images     degradable  // containerd
	content    degradable  // containerd: complete blobs, and blobs that containerd is downloading
	snapshots  degradable  // containerd: unpacked layers
	discards   atomic.Bool // containerd discards unpacked layers: see findDiscardOption
}

// storesOf selects the stores by the runtime's name and version, because the meaning of timestamps depends on the
// version. containerd 1.7 also has a sandbox store, but the agent does not use it. To use the sandbox store, the agent
// needs CRI's created_at as the end of the network setup, but containerd 1.7 sets created_at before the network plugins
// run.
func storesOf(version *runtimeapi.VersionResponse, logger *zap.Logger) *storeSet {
	s := &storeSet{}
	containerd := version.GetRuntimeName() == "containerd"
	major, known := majorVersion(version.GetRuntimeVersion())
	s.unstamped = version.GetRuntimeName() != "" && !containerd || containerd && known && major < 2
	const networkReady = "when the network of a sandbox was ready"
	s.networkFirst = containerd && known && major >= 2
	s.sandboxes.initialize(s.networkFirst, logger, "sandboxes", networkReady)
	s.containers.initialize(containerd && storesSandboxContainers(version.GetRuntimeVersion()), logger, "sandboxes",
		networkReady)
	s.images.initialize(containerd, logger, "images", "when a pull ended")
	s.content.initialize(containerd, logger, "content", "which layers and how many bytes a pull downloaded")
	s.snapshots.initialize(containerd, logger, "snapshots", "when a layer was unpacked")
	return s
}

// kinds returns one entry for each kind of store. The first entry is the store that contains the times of sandboxes.
// The runtime's version determines whether the first entry is the sandbox store or the container store.
func (s *storeSet) kinds() []*degradable {
	ofSandboxes := &s.sandboxes
	if s.containers.isEnabled() || s.containers.refused.Load() {
		ofSandboxes = &s.containers
	}
	return []*degradable{ofSandboxes, &s.images, &s.content, &s.snapshots}
}

// absentStores returns the name of each absent store, and the fact that the runtime does not report without the store.
func (s *storeSet) absentStores() (names, unreported []string) {
	for _, store := range s.kinds() {
		if !store.isEnabled() {
			names, unreported = append(names, store.name), append(unreported, store.shows)
		}
	}
	return names, unreported
}

// describeLimits lists what the runtime does not report. If the runtime reports everything, the text is empty.
func (s *storeSet) describeLimits() string {
	_, unreported := s.absentStores()
	if s.containers.isEnabled() {
		unreported = append(unreported, "when a sandbox was running")
	}
	if s.content.isEnabled() && s.discards.Load() {
		unreported = append(unreported, discardedLayers)
	}
	if last := len(unreported) - 1; last > 0 {
		return strings.Join(unreported[:last], ", ") + " or " + unreported[last]
	}
	return strings.Join(unreported, "")
}

// sandboxStamps holds the timestamps of one sandbox from containerd's stores.
type sandboxStamps struct {
	begunAt, runningAt             time.Time
	imageResolvedAt, imagePulledAt time.Time // times of the sandbox image's pull; zero if there was no pull
	imageKnown                     bool      // true if the agent knows whether containerd pulled the image
}

// podSandboxer is the name of a sandboxer. In containerd, a sandboxer is the component that creates sandboxes.
// stampSandbox supports only podSandboxer. Other sandboxers, such as the shims of virtual machines, create the sandbox
// differently.
const podSandboxer = "podsandbox"

// stampSandbox sets the timestamps of a sandbox. The argument createdAt is CRI's created_at. The argument
// firstContainerAt is the creation time of the sandbox's first container, or zero if there is no container yet.
//
// containerd ≥ 2.0 (internal/cri/server/sandbox_run.go) sets created_at in its sandbox store before the network setup.
// After the network setup, containerd creates the sandbox container and sets CRI's created_at. Finally, containerd
// starts the sandbox container, and immediately afterwards sets updated_at in its sandbox store. Later, updated_at
// changes only if the pod's resources change. stampSandbox keeps the first updated_at that it reads for a ready
// sandbox. If updated_at is later than the creation of the first container, stampSandbox ignores updated_at.
func (a *responder) stampSandbox(
	ctx context.Context, sandbox *timeline.Sandbox, createdAt, firstContainerAt time.Time,
) error {
	sandbox.CreatedAt = createdAt
	if a.stores.containers.isEnabled() {
		return a.stampFromContainer(ctx, sandbox, firstContainerAt)
	}
	if !a.stores.sandboxes.isEnabled() {
		sandbox.Unstamped = a.stores.unstamped || a.stores.sandboxes.refused.Load()
		return nil
	}
	cached, _ := a.stamps.Get(sandbox.ID)
	stamps, known := cached.(sandboxStamps) // false for values of stampFromContainer, which have another type
	if !known {
		stored, err := a.client.storedSandbox(ctx, sandbox.ID)
		if err != nil {
			err = a.stores.sandboxes.tolerate(err)
			sandbox.Unstamped = err == nil && a.stores.sandboxes.refused.Load()
			return err
		}
		if stored.GetSandboxer() != podSandboxer {
			sandbox.Unstamped = stored.GetSandboxer() != ""
			return nil
		}
		stamps.begunAt = fromTimestamp(stored.GetCreatedAt())
		if err := a.stampSandboxImage(ctx, &stamps, createdAt); err != nil {
			return err
		}
		if sandbox.Ready {
			stamps.runningAt = fromTimestamp(stored.GetUpdatedAt())
			a.stamps.Add(sandbox.ID, stamps)
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

// storedImage returns an image from containerd's image store. storedImage returns nil if the store does not have the
// image or is disabled. storedImage also returns nil if the reference is not the name of an image.
func (a *responder) storedImage(ctx context.Context, ref string) (*imagesapi.Image, error) {
	name, err := imagepull.Normalize(ref)
	if err != nil || !a.stores.images.isEnabled() {
		return nil, nil // for example, the reference is a bare image ID, which Normalize rejects
	}
	stored, err := a.client.storedImage(ctx, name)
	if err != nil {
		return nil, a.stores.images.tolerate(err)
	}
	return stored, nil
}

// stampImage sets the digest of an image on the node, and the end times of the image's first and latest pulls. When a
// pull completes, containerd updates the entry with the image's full name in its image store. containerd also updates
// the entry if the pull downloaded nothing. The argument "stored" can be nil.
func stampImage(image *timeline.Image, stored *imagesapi.Image) {
	image.FirstPulledAt = fromTimestamp(stored.GetCreatedAt())
	image.PulledAt = fromTimestamp(stored.GetUpdatedAt())
	image.Digest = cmp.Or(stored.GetTarget().GetDigest(), image.Digest)
}
