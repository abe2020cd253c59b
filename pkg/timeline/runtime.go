package timeline

import "time"

// Sandbox is one pod sandbox in the runtime. Timestamps are exact instants on the node's clock. The zero time means
// that this runtime does not give it.
type Sandbox struct {
	ID      string
	Attempt int
	Ready   bool
	// BegunAt is when the runtime was asked for the sandbox (containerd ≥ 2.0: the sandbox store's
	// created_at).
	BegunAt time.Time
	// NetworkReadyAt is when the network was set up (containerd ≥ 2.0: CRI created_at, taken when the
	// sandbox container is created, which is after the CNI plugins returned).
	NetworkReadyAt time.Time
	// ImageResolvedAt and ImagePulledAt are when the manifest of the sandbox (pause) image arrived on the node, and
	// when the latest pull of that image ended, if that was after BegunAt and before NetworkReadyAt: containerd 2.x
	// pulls an absent one in between, after it set up the network. Zero otherwise.
	ImageResolvedAt, ImagePulledAt time.Time
	// ImageKnown says that the runtime said whether it pulled the sandbox image in between.
	ImageKnown bool
	// RunningAt is when the sandbox ran (containerd ≥ 2.0: the sandbox store's updated_at, last
	// written after the sandbox container was started; only meaningful when Ready).
	RunningAt time.Time
	// CreatedAt is CRI's created_at if its place among the three above is unknown.
	CreatedAt time.Time
}

// ContainerRun is one run of a container in the runtime. Timestamps are exact instants on the node's clock. The zero
// time means not yet.
type ContainerRun struct {
	Name       string
	ID         string
	Attempt    int // the kubelet's restart count, from the container's annotation
	CreatedAt  time.Time
	StartedAt  time.Time
	FinishedAt time.Time
	ExitCode   int
	Reason     string // once finished, the runtime's reason: Completed, Error, OOMKilled, …
}

// Image says whether an image is on the node.
type Image struct {
	Ref     string // as written in the spec
	Present bool
	// FirstPulledAt and PulledAt are when the first and the latest pull of this reference ended (containerd: the
	// image store's created_at and updated_at); zero if the runtime does not say.
	FirstPulledAt time.Time
	PulledAt      time.Time
	SizeBytes     int64  // compressed in containerd, uncompressed in CRI-O; 0 if unknown
	Digest        string // repository digest, e.g. sha256:…; empty if unknown
	// ResolvedAt is when the image's manifest, or its index, first arrived on the node (containerd: created_at of
	// the image's target in the content store): soon after the first pull began. Zero unless LookUp.Layers asked for
	// it.
	ResolvedAt time.Time
	Layers     []Layer // the bottom one first; empty unless LookUp.Layers asked for it
	Layered    bool    // LookUp.Layers asked for the layers, whether or not the runtime could give them
	Incomplete bool    // some of that was not given in time: another answer may have it
}

// Layer is one layer of an image in containerd's stores. Timestamps are exact instants on the node's clock. The zero
// time means that the runtime does not give it, or no longer has it.
type Layer struct {
	Digest       string    // of the blob in the registry, e.g. sha256:…
	SizeBytes    int64     // of that blob; 0 if unknown
	DownloadedAt time.Time // the blob was complete (content store: created_at)
	UnpackedAt   time.Time // the layer was complete on the disk (snapshotter: created_at of the committed snapshot)
	// Remote says that the snapshotter mounted the layer from the registry instead of unpacking it (stargz, SOCI,
	// nydus, overlaybd): its content is downloaded when it is read, while the container runs. UnpackedAt is when it
	// was mounted.
	Remote bool
}
