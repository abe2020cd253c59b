package timeline

import "time"

// Sandbox is one pod sandbox in the runtime. Timestamps are exact instants on the node's clock. The zero time means
// that this runtime does not report it.
type Sandbox struct {
	ID      string `json:"id,omitzero"`
	Attempt int    `json:"attempt,omitzero"`
	Ready   bool   `json:"ready,omitzero"`
	// BegunAt is when the runtime was asked for the sandbox (containerd ≥ 2.0: the sandbox store's
	// created_at).
	BegunAt time.Time `json:"begun_at,omitzero"`
	// NetworkReadyAt is when the network was set up (containerd ≥ 2.0: CRI created_at, taken when the
	// sandbox container is created, which is after the CNI plugins returned).
	NetworkReadyAt time.Time `json:"network_ready_at,omitzero"`
	// ImageResolvedAt and ImagePulledAt are when the manifest of the sandbox (pause) image arrived on the node, and
	// when the latest pull of that image ended, if that was after BegunAt and before NetworkReadyAt: containerd 2.x
	// pulls an absent one in between, after it set up the network. Zero otherwise.
	ImageResolvedAt time.Time `json:"image_resolved_at,omitzero"`
	ImagePulledAt   time.Time `json:"image_pulled_at,omitzero"`
	// ImageKnown says that the runtime said whether it pulled the sandbox image in between.
	ImageKnown bool `json:"image_known,omitzero"`
	// RunningAt is when the sandbox ran (containerd ≥ 2.0: the sandbox store's updated_at, last
	// written after the sandbox container was started; only meaningful when Ready).
	RunningAt time.Time `json:"running_at,omitzero"`
	// CreatedAt is CRI's created_at if it is unknown which of the three instants above it is near.
	CreatedAt time.Time `json:"created_at,omitzero"`
	// Unstamped says that this runtime can never report BegunAt, NetworkReadyAt and RunningAt of the sandbox. The
	// runtime's name, its version or its answer proves that (CRI-O, containerd 1.x, the shim of a virtual machine).
	Unstamped bool `json:"unstamped,omitzero"`
}

// ContainerRun is one run of a container in the runtime. Timestamps are exact instants on the node's clock. The zero
// time means not yet.
type ContainerRun struct {
	Name       string    `json:"name"`
	ID         string    `json:"id,omitzero"`
	Attempt    int       `json:"attempt,omitzero"` // the kubelet's restart count, from the container's annotation
	CreatedAt  time.Time `json:"created_at,omitzero"`
	StartedAt  time.Time `json:"started_at,omitzero"`
	FinishedAt time.Time `json:"finished_at,omitzero"`
	ExitCode   int       `json:"exit_code,omitzero"`
	Reason     string    `json:"reason,omitzero"` // once finished, the runtime's reason: Completed, Error, OOMKilled, …
}

// Image says whether an image is on the node.
type Image struct {
	Ref     string `json:"ref"` // as written in the spec
	Present bool   `json:"present,omitzero"`
	// FirstPulledAt and PulledAt are when the first and the latest pull of this reference ended (containerd: the
	// image store's created_at and updated_at); zero if the runtime does not say.
	FirstPulledAt time.Time `json:"first_pulled_at,omitzero"`
	PulledAt      time.Time `json:"pulled_at,omitzero"`
	// SizeBytes is the compressed size in containerd, the uncompressed size in CRI-O; 0 if unknown.
	SizeBytes int64  `json:"size_bytes,omitzero"`
	Digest    string `json:"digest,omitzero"` // repository digest, e.g. sha256:…; empty if unknown
	// ResolvedAt is when the image's manifest, or its index, first arrived on the node (containerd: created_at of
	// the image's target in the content store): soon after the first pull began. Zero unless LookUp.Layers asked for
	// it.
	ResolvedAt time.Time `json:"resolved_at,omitzero"`
	Layers     []Layer   `json:"layers,omitempty"` // the bottom one first; empty unless LookUp.Layers asked for it
	// LookUp.Layers asked for the layers, whether or not the runtime could give them
	Layered    bool `json:"layered,omitzero"`
	Incomplete bool `json:"untold,omitzero"` // some layers were not reported in time: another answer may have them
}

// Layer is one layer of an image in containerd's stores. Timestamps are exact instants on the node's clock. The zero
// time means that the runtime does not report it, or no longer has it.
type Layer struct {
	Digest       string    `json:"digest"`                 // of the blob in the registry, e.g. sha256:…
	SizeBytes    int64     `json:"size_bytes,omitzero"`    // of that blob; 0 if unknown
	DownloadedAt time.Time `json:"downloaded_at,omitzero"` // the blob was complete (content store: created_at)
	// the layer was complete on the disk (snapshotter: created_at of the committed snapshot)
	UnpackedAt time.Time `json:"unpacked_at,omitzero"`
	// Remote says that the snapshotter mounted the layer from the registry instead of unpacking it (stargz, SOCI,
	// nydus, overlaybd): its content is downloaded when it is read, while the container runs. UnpackedAt is when it
	// was mounted.
	Remote bool `json:"remote,omitzero"`
}
