package export

import (
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Record is one pod's timeline as JSON: the contract with everything outside the agent. Lists are
// never null. What is unknown or does not apply is left out: the owner of a bare pod, the end of a
// start-up that still goes on, the instants and lengths of a pull that nobody timed.
type Record struct {
	// ID is the same whenever the same start-up is reported again: what a reader drops repetitions by.
	ID        string         `json:"id"`
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"`
	UID       string         `json:"uid"`
	Node      string         `json:"node"`
	Owner     OwnerRecord    `json:"owner,omitzero"`
	State     timeline.State `json:"state"`
	Reason    string         `json:"reason,omitempty"` // why it failed, or why a container waits, e.g. Evicted
	// Partial says that another record of the start-up will follow: it goes on, or late evidence may still come.
	Partial bool `json:"partial,omitempty"`

	CreatedAt Instant `json:"created_at"`
	SettledAt Instant `json:"settled_at,omitzero"`
	// the agent heard that the object is gone; the API goes on telling for a while
	GoneAt     Instant `json:"gone_at,omitzero"`
	Total      Seconds `json:"total_seconds"` // the age so far while starting
	TotalError Seconds `json:"total_error_seconds"`
	Verdict    string  `json:"verdict"` // one sentence for people; its wording may change
	// Reconstructed says that the agent came after the start-up was over; see timeline.Timeline.
	Reconstructed bool `json:"reconstructed,omitempty"`

	Phases    []PhaseRecord    `json:"phases"` // their seconds add up to total_seconds exactly
	Pulls     []PullRecord     `json:"pulls"`
	Marks     []MarkRecord     `json:"marks"`
	Conflicts []ConflictRecord `json:"conflicts"`
	Missing   []string         `json:"missing"`
	// LostEvents are Events that kubelet must have made and that never came, as reason/container.
	LostEvents []string `json:"lost_events,omitempty"`
	// Events are what kubelet said on the way, as far as an Event watch was open; the earliest 32, in order.
	Events []EventRecord `json:"events,omitempty"`
	// ClockSkew is there when the control plane's clock is known to differ from the node's: errors of what
	// the control plane stamped make room for it.
	ClockSkew *SkewRecord `json:"clock_skew,omitempty"`
	// Termination is how the pod ends, once somebody asked to delete it; no part of the start-up.
	// Nil where nobody follows that.
	Termination *TerminationRecord `json:"termination,omitempty"`
}

// SkewRecord is how far the control plane's clock is ahead of the node's, negative when it is behind.
type SkewRecord struct {
	Least Seconds `json:"least_seconds"`
	Most  Seconds `json:"most_seconds"`
}

// OwnerRecord is the controller that owns the pod.
type OwnerRecord struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// PhaseRecord is one stretch of the start-up.
type PhaseRecord struct {
	Phase      timeline.Phase    `json:"phase"`
	Cause      timeline.Cause    `json:"cause"`
	Container  string            `json:"container,omitempty"`
	Attempt    int               `json:"attempt,omitempty"` // from 0
	StartAt    Instant           `json:"start_at"`
	EndAt      Instant           `json:"end_at"`
	Length     Seconds           `json:"seconds"`
	Error      Seconds           `json:"error_seconds"`
	Open       bool              `json:"open,omitempty"` // still going on when the record was made
	Sources    []timeline.Source `json:"sources"`
	MergedWith []timeline.Phase  `json:"merged_with,omitempty"`
	Pressure   *PressureRecord   `json:"pressure,omitempty"` // nil where nobody measured it
	// ImageLoading says that the container's image may still have been loading meanwhile, since it is lazy.
	ImageLoading bool `json:"image_loading,omitempty"`
}

// PressureRecord is the share of a phase, from 0 to 1, in which tasks of the whole node waited for
// a resource, to a thousandth.
type PressureRecord struct {
	CPU    float64 `json:"cpu"`
	IO     float64 `json:"io"`
	Memory float64 `json:"memory"`
}

// PullRecord is one attempt to get one container's image.
//
// Those for ephemeral containers are no part of the start-up; they come last.
type PullRecord struct {
	Container string                 `json:"container"`
	Kind      timeline.ContainerKind `json:"kind,omitempty"` // of the container
	Image     string                 `json:"image"`
	Registry  string                 `json:"registry"`
	Digest    string                 `json:"digest,omitempty"`
	Outcome   imagepull.Outcome      `json:"outcome"`
	Failure   imagepull.Failure      `json:"failure,omitempty"` // why, of a failed one
	// only Events tell of the failure, no status of the pod
	Unconfirmed bool    `json:"unconfirmed,omitempty"`
	RequestedAt Instant `json:"requested_at,omitzero"`
	StartedAt   Instant `json:"started_at,omitzero"`
	// the last byte had come; absent when nobody tells
	DownloadedAt Instant  `json:"downloaded_at,omitzero"`
	FinishedAt   Instant  `json:"finished_at,omitzero"`
	Queue        *Seconds `json:"queue_seconds,omitempty"` // nil when not timed, like the two below
	Pull         *Seconds `json:"pull_seconds,omitempty"`
	// of a failed one, of the time from requested to finished
	Error     *Seconds `json:"error_seconds,omitempty"`
	SizeBytes int64    `json:"size_bytes,omitempty"`
	// Download and Unpack overlap: one layer is unpacked while others still come. Both are absent, like the
	// layers, unless content came with this pull and the runtime tells.
	Download *DownloadRecord `json:"download,omitempty"`
	Unpack   *UnpackRecord   `json:"unpack,omitempty"`
	Layers   []LayerRecord   `json:"layers,omitempty"`
	// Lazy says that a snapshotter mounted layers from the registry: their content comes while the container runs.
	Lazy bool `json:"lazy,omitempty"`
	// Resumed says that an attempt which was broken off may have brought a part of the layers.
	Resumed bool `json:"resumed,omitempty"`
	// BlockedBy is the pull of another pod that this one waited for the longest in the node's queue.
	BlockedBy *BlockerRecord `json:"blocked_by,omitempty"`
	// PullsAhead are the pulls of the node that were before this one in its queue; PullsBeside are the other pulls
	// that went on at once, at most, while this one did. See timeline.Pull.
	PullsAhead  int               `json:"pulls_ahead,omitempty"`
	PullsBeside int               `json:"pulls_beside,omitempty"`
	Sources     []timeline.Source `json:"sources"`
	Attempt     int               `json:"attempt"` // from 0
}

// DownloadRecord is from the request to the runtime until the last byte had come.
type DownloadRecord struct {
	StartAt Instant `json:"start_at"`
	EndAt   Instant `json:"end_at"`
	Length  Seconds `json:"seconds"`
	Bytes   int64   `json:"bytes"` // of the layers, as the registry has them, without those that are shared
	// BytesPerSecond is how fast they came; 0 where some may have come before, or counts elsewhere.
	BytesPerSecond int64 `json:"bytes_per_second,omitempty"`
}

// UnpackRecord is from when to when layers were unpacked.
type UnpackRecord struct {
	StartAt Instant `json:"start_at"`
	EndAt   Instant `json:"end_at"`
	Busy    Seconds `json:"seconds"` // less than from start to end where the disk waited for the registry
}

// LayerRecord is a layer that came with a pull, the bottom one first.
type LayerRecord struct {
	Digest       string  `json:"digest"`
	SizeBytes    int64   `json:"size_bytes,omitempty"`
	DownloadedAt Instant `json:"downloaded_at,omitzero"`
	UnpackedAt   Instant `json:"unpacked_at,omitzero"`
	// Shared says that the pull of a pod that settled before brought it as well, so that its bytes count there.
	Shared bool `json:"shared,omitempty"`
}

// BlockerRecord names a pull that another one waited for, and for how long.
type BlockerRecord struct {
	Namespace string  `json:"namespace"`
	Pod       string  `json:"pod"`
	Container string  `json:"container"`
	Image     string  `json:"image"`
	Waited    Seconds `json:"seconds"`
}

// MarkRecord is the interval known to hold a mark's true instant; a bound that is not known is left
// out.
type MarkRecord struct {
	Mark      string            `json:"mark"`
	Container string            `json:"container,omitempty"`
	Attempt   int               `json:"attempt,omitempty"`
	Earliest  Instant           `json:"earliest,omitzero"`
	Latest    Instant           `json:"latest,omitzero"`
	Sources   []timeline.Source `json:"sources"`
}

// EventRecord is one thing that kubelet said, once however often it repeats.
type EventRecord struct {
	At        Instant `json:"at"`
	Container string  `json:"container,omitempty"`
	Reason    string  `json:"reason"`
	Message   string  `json:"message"` // at most 256 bytes, without credentials
}

// ConflictRecord is a contradiction between sources.
type ConflictRecord struct {
	Mark      string `json:"mark"`
	Container string `json:"container,omitempty"`
	Detail    string `json:"detail"`
}
