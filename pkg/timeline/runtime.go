package timeline

import "time"

// Sandbox is one pod sandbox in the runtime. Timestamps are exact instants on the node's clock. The zero time
// means that the runtime does not report the instant.
type Sandbox struct {
	ID      string `json:"id,omitzero"`
	Attempt int    `json:"attempt,omitzero"`
	Ready   bool   `json:"ready,omitzero"`
	// BegunAt is the time when the kubelet requested the sandbox (containerd ≥ 2.0: created_at in the
	// sandbox store; containerd 1.x: created_at in the container store, see ImageFirst).
	BegunAt time.Time `json:"begun_at,omitzero"`
	// NetworkReadyAt is the time when the network setup was complete (containerd ≥ 2.0: CRI created_at; containerd 1.x:
	// updated_at in the container store). containerd 2.x sets created_at when it creates the sandbox container, after
	// the CNI plugins returned. containerd 1.x sets updated_at immediately after the CNI plugins returned.
	NetworkReadyAt time.Time `json:"network_ready_at,omitzero"`
	// ImageResolvedAt is the time when the manifest of the sandbox (pause) image arrived on the node. ImagePulledAt is
	// the end of the latest pull of the sandbox image. If the pull did not end between BegunAt and NetworkReadyAt, both
	// times are zero. containerd 2.x pulls an absent sandbox image after the network setup, but before it sets
	// created_at (NetworkReadyAt).
	ImageResolvedAt time.Time `json:"image_resolved_at,omitzero"`
	ImagePulledAt   time.Time `json:"image_pulled_at,omitzero"`
	// ImageKnown is true if the runtime reported whether it pulled the sandbox image between BegunAt and
	// NetworkReadyAt.
	ImageKnown bool `json:"image_known,omitzero"`
	// RunningAt is the time when the start of the sandbox was complete (containerd ≥ 2.0: updated_at in the sandbox
	// store). containerd changes updated_at for the last time after it has started the sandbox container. RunningAt is
	// meaningful only if Ready is true.
	RunningAt time.Time `json:"running_at,omitzero"`
	// CreatedAt is the field created_at of CRI. Depending on the runtime, created_at contains BegunAt, NetworkReadyAt
	// or RunningAt. The agent sets CreatedAt only if it does not know which of these three times created_at contains.
	CreatedAt time.Time `json:"created_at,omitzero"`
	// ImageFirst is true if the runtime pulls an absent sandbox image before BegunAt (containerd 1.x). If ImageFirst is
	// true, ImageStoredAt is the end of the pull that brought the sandbox image to the node, or zero if unknown.
	ImageFirst    bool      `json:"image_first,omitzero"`
	ImageStoredAt time.Time `json:"image_stored_at,omitzero"`
	// Unstamped is true if the runtime can never report at least one of the sandbox's times BegunAt, NetworkReadyAt
	// and RunningAt. The agent derives Unstamped from the runtime's name, version or response. For example, Unstamped
	// is true for CRI-O, for containerd 1.x, and for the shim of a virtual machine.
	Unstamped bool `json:"unstamped,omitzero"`
}

// ContainerRun is one run of a container in the runtime. Timestamps are exact instants on the node's clock. The
// zero time means that the step has not happened yet.
type ContainerRun struct {
	Name       string    `json:"name"`
	ID         string    `json:"id,omitzero"`
	Attempt    int       `json:"attempt,omitzero"` // the kubelet's restart count, from the container's annotation
	CreatedAt  time.Time `json:"created_at,omitzero"`
	StartedAt  time.Time `json:"started_at,omitzero"`
	FinishedAt time.Time `json:"finished_at,omitzero"`
	ExitCode   int       `json:"exit_code,omitzero"`
	Reason     string    `json:"reason,omitzero"` // the runtime's reason for the end: Completed, Error, OOMKilled, …
}

// Image is the runtime's response about one image.
type Image struct {
	Ref     string `json:"ref"` // as written in the spec
	Present bool   `json:"present,omitzero"`
	// FirstPulledAt is the end of the first pull of this reference (containerd: created_at in the image store).
	// PulledAt is the end of the latest pull (containerd: updated_at). FirstPulledAt and PulledAt are zero if the
	// runtime does not report them.
	FirstPulledAt time.Time `json:"first_pulled_at,omitzero"`
	PulledAt      time.Time `json:"pulled_at,omitzero"`
	// SizeBytes is the compressed size in containerd and the uncompressed size in CRI-O. SizeBytes is 0 if unknown.
	SizeBytes int64  `json:"size_bytes,omitzero"`
	Digest    string `json:"digest,omitzero"` // repository digest, e.g. sha256:…; empty if unknown
	// ResolvedAt is the time when the image's manifest or index first arrived on the node (containerd: created_at of
	// the image's target in the content store). The manifest arrives soon after the start of the first pull. If
	// RuntimeRequest.Layers does not contain the image, ResolvedAt is zero.
	ResolvedAt time.Time `json:"resolved_at,omitzero"`
	// Layers lists the image's layers, the bottom layer first. If RuntimeRequest.Layers does not contain the image,
	// Layers is empty.
	Layers []Layer `json:"layers,omitempty"`
	// Layered is true if RuntimeRequest.Layers contains the image, even if the runtime could not provide the layers.
	Layered bool `json:"layered,omitzero"`
	// Incomplete is true if the runtime did not report some layers in time. A later response can contain the missing
	// layers.
	Incomplete bool `json:"incomplete,omitzero"`
	// LazySnapshotter is true if the image's snapshotter can mount layers from the registry (see Layer.Remote). Before
	// containerd unpacks a layer, such a snapshotter asks the registry whether it can mount the layer.
	LazySnapshotter bool `json:"lazy_snapshotter,omitzero"`
}

// Layer is one layer of an image in containerd's stores. Timestamps are exact instants on the node's clock. The zero
// time means that the runtime does not report the time, or no longer stores the time.
type Layer struct {
	Digest       string    `json:"digest"`                 // digest of the blob in the registry, e.g. sha256:…
	SizeBytes    int64     `json:"size_bytes,omitzero"`    // size of the blob; 0 if unknown
	DownloadedAt time.Time `json:"downloaded_at,omitzero"` // when the blob was complete (content store: created_at)
	// UnpackedAt is the time when the layer was complete on the disk (snapshotter: created_at of the committed
	// snapshot).
	UnpackedAt time.Time `json:"unpacked_at,omitzero"`
	// Remote is true if the snapshotter mounted the layer from the registry and did not unpack it (stargz, SOCI, nydus,
	// overlaybd). The snapshotter downloads the content later, while the container runs. For a remote layer, UnpackedAt
	// is the time of the mount.
	Remote bool `json:"remote,omitzero"`
}
