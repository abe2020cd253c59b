package api

import (
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Record is one pod's timeline as JSON: the contract with everything outside the agent. Lists are
// never null. Values that are unknown or do not apply are omitted: the owner of a bare pod, the end of a start-up in
// progress, the instants and durations of a pull without timestamps.
type Record struct {
	// ID is the same whenever the same start-up is reported again: readers use it to drop
	// repetitions.
	ID        string         `json:"id"`
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"`
	UID       string         `json:"uid"`
	Node      string         `json:"node"`
	Owner     OwnerRecord    `json:"owner,omitzero"`
	State     timeline.State `json:"state"`
	Reason    string         `json:"reason,omitempty"` // why it failed, or why a container waits, e.g. Evicted
	// Partial says that another record of the start-up will follow: it is in progress, or late
	// evidence may still arrive.
	Partial bool `json:"partial,omitempty"`

	CreatedAt Instant `json:"created_at"`
	SettledAt Instant `json:"settled_at,omitzero"`
	// when the agent learned that the object was removed; the API still returns the record for a
	// while
	GoneAt     Instant `json:"gone_at,omitzero"`
	Total      Seconds `json:"total_seconds"` // while starting, the age so far
	TotalError Seconds `json:"total_error_seconds"`
	Verdict    string  `json:"verdict"` // one sentence for people; its wording may change
	// Reconstructed says that the agent started after the start-up was over; see timeline.Timeline.
	Reconstructed bool `json:"reconstructed,omitempty"`

	Phases     []PhaseRecord     `json:"phases"` // their seconds add up to total_seconds exactly
	Pulls      []PullRecord      `json:"pulls"`
	Milestones []MilestoneRecord `json:"milestones"`
	Conflicts  []ConflictRecord  `json:"conflicts"`
	Missing    []string          `json:"missing"`
	// Unreported lists the milestones that the container runtime can never report, in the form of Missing.
	Unreported []string `json:"unreported,omitempty"`
	// LostEvents are Events that the kubelet must have created and that were never received, as
	// reason/container.
	LostEvents []string `json:"lost_events,omitempty"`
	// Events are the kubelet's Events during the start-up, as far as an Event watch was open; the
	// earliest 32, in order.
	Events []EventRecord `json:"events,omitempty"`
	// ClockSkew is present if the control plane's clock is known to differ from the node's. The
	// errors of its timestamps include the skew.
	ClockSkew *SkewRecord `json:"clock_skew,omitempty"`
	// Termination is how the pod ends, once its deletion was requested. It is not part of the
	// start-up. Nil if terminations are not followed.
	Termination *TerminationRecord `json:"termination,omitempty"`
}

// SkewRecord is the lead of the control plane's clock over the node's; negative if it is behind.
type SkewRecord struct {
	Least Seconds `json:"least_seconds"`
	Most  Seconds `json:"most_seconds"`
}

// OwnerRecord is the controller that owns the pod.
type OwnerRecord struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// PhaseRecord is one span of the start-up.
type PhaseRecord struct {
	Phase      timeline.Phase    `json:"phase"`
	Cause      timeline.Cause    `json:"cause"`
	Container  string            `json:"container,omitempty"`
	Attempt    int               `json:"attempt,omitempty"` // from 0
	StartAt    Instant           `json:"start_at"`
	EndAt      Instant           `json:"end_at"`
	Length     Seconds           `json:"seconds"`
	Error      Seconds           `json:"error_seconds"`
	Open       bool              `json:"open,omitempty"` // in progress when the record was created
	Sources    []timeline.Source `json:"sources"`
	MergedWith []timeline.Phase  `json:"merged_with,omitempty"`
	Pressure   *PressureRecord   `json:"pressure,omitempty"` // nil if not measured
	// ImageLoading says that the container's image may still have been loading meanwhile, because
	// it is lazy.
	ImageLoading bool `json:"image_loading,omitempty"`
}

// PressureRecord is the share of a phase, from 0 to 1, in which tasks of the whole node waited for
// a resource, rounded to a thousandth.
type PressureRecord struct {
	CPU    float64 `json:"cpu"`
	IO     float64 `json:"io"`
	Memory float64 `json:"memory"`
}

// PullRecord is one attempt to pull one container's image.
//
// Pulls for ephemeral containers are not part of the start-up; they come last.
type PullRecord struct {
	Container string                 `json:"container"`
	Kind      timeline.ContainerKind `json:"kind,omitempty"` // of the container
	Image     string                 `json:"image"`
	Registry  string                 `json:"registry"`
	Digest    string                 `json:"digest,omitempty"`
	Outcome   imagepull.Outcome      `json:"outcome"`
	Failure   imagepull.Failure      `json:"failure,omitempty"` // why the pull failed
	// only Events report the failure, not the pod's status
	Unconfirmed bool    `json:"unconfirmed,omitempty"`
	RequestedAt Instant `json:"requested_at,omitzero"`
	StartedAt   Instant `json:"started_at,omitzero"`
	// when the last byte had arrived; absent if unknown
	DownloadedAt Instant  `json:"downloaded_at,omitzero"`
	FinishedAt   Instant  `json:"finished_at,omitzero"`
	Queue        *Seconds `json:"queue_seconds,omitempty"` // nil if not timed, like the two below
	Pull         *Seconds `json:"pull_seconds,omitempty"`
	// of a failed pull: of the time from requested to finished
	Error     *Seconds `json:"error_seconds,omitempty"`
	SizeBytes int64    `json:"size_bytes,omitempty"`
	// Download and Unpack overlap: one layer is unpacked while others still arrive. Both, like the
	// layers, are absent unless content arrived with this pull and the runtime reports it.
	Download *DownloadRecord `json:"download,omitempty"`
	Unpack   *UnpackRecord   `json:"unpack,omitempty"`
	Layers   []LayerRecord   `json:"layers,omitempty"`
	// Lazy says that a snapshotter mounted layers from the registry: their content arrives while
	// the container runs.
	Lazy bool `json:"lazy,omitempty"`
	// Resumed says that an interrupted attempt may have downloaded a part of the layers.
	Resumed bool `json:"resumed,omitempty"`
	// BlockedBy is the pull of another pod for which this one waited the longest in the node's
	// queue.
	BlockedBy *BlockerRecord `json:"blocked_by,omitempty"`
	// PullsAhead is how many pulls of the node were before this one in its queue. PullsBeside is
	// the largest number of other pulls that were in progress at once during this one. See
	// timeline.Pull.
	PullsAhead  int               `json:"pulls_ahead,omitempty"`
	PullsBeside int               `json:"pulls_beside,omitempty"`
	Sources     []timeline.Source `json:"sources"`
	Attempt     int               `json:"attempt"` // from 0
}

// DownloadRecord covers the time from the request to the runtime until the last byte had arrived.
type DownloadRecord struct {
	StartAt Instant `json:"start_at"`
	EndAt   Instant `json:"end_at"`
	Length  Seconds `json:"seconds"`
	Bytes   int64   `json:"bytes"` // of the layers, as in the registry, without shared layers
	// BytesPerSecond is the download rate; 0 if some bytes may have arrived before, or count
	// elsewhere.
	BytesPerSecond int64 `json:"bytes_per_second,omitempty"`
}

// UnpackRecord covers the time in which layers were unpacked.
type UnpackRecord struct {
	StartAt Instant `json:"start_at"`
	EndAt   Instant `json:"end_at"`
	Busy    Seconds `json:"seconds"` // less than from start to end if the disk waited for the registry
}

// LayerRecord is a layer that arrived with a pull, the bottom one first.
type LayerRecord struct {
	Digest       string  `json:"digest"`
	SizeBytes    int64   `json:"size_bytes,omitempty"`
	DownloadedAt Instant `json:"downloaded_at,omitzero"`
	UnpackedAt   Instant `json:"unpacked_at,omitzero"`
	// Shared says that the pull of a pod that settled earlier also downloaded this layer, so that
	// its bytes count there.
	Shared bool `json:"shared,omitempty"`
}

// BlockerRecord names a pull for which another one waited, and for how long.
type BlockerRecord struct {
	Namespace string  `json:"namespace"`
	Pod       string  `json:"pod"`
	Container string  `json:"container"`
	Image     string  `json:"image"`
	Waited    Seconds `json:"seconds"`
}

// MilestoneRecord is the interval known to contain a milestone's true instant. An unknown bound is omitted.
type MilestoneRecord struct {
	Milestone string            `json:"milestone"`
	Container string            `json:"container,omitempty"`
	Attempt   int               `json:"attempt,omitempty"`
	Earliest  Instant           `json:"earliest,omitzero"`
	Latest    Instant           `json:"latest,omitzero"`
	Sources   []timeline.Source `json:"sources"`
}

// EventRecord is one Event of the kubelet, once however often it repeats.
type EventRecord struct {
	At        Instant `json:"at"`
	Container string  `json:"container,omitempty"`
	Reason    string  `json:"reason"`
	Message   string  `json:"message"` // at most 256 bytes, without credentials
}

// ConflictRecord is a contradiction between sources.
type ConflictRecord struct {
	Milestone string `json:"milestone"`
	Container string `json:"container,omitempty"`
	Detail    string `json:"detail"`
}
