package api

import (
	"slices"

	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Record is one pod's timeline as JSON. Programs outside the agent rely on the names and meanings of the fields. Lists
// are never null. JSON omits values that are unknown or do not apply. For example, JSON omits the owner of a pod
// without a controller, the end of a start-up in progress, and the unknown times of a pull.
type Record struct {
	// ID identifies the start-up. A repeated record of the same start-up has the same ID, so that readers can drop
	// repetitions.
	ID        string         `json:"id"`
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"`
	UID       string         `json:"uid"`
	Node      string         `json:"node"`
	Owner     OwnerRecord    `json:"owner,omitzero"`
	Revision  string         `json:"revision,omitempty"` // name of the workload's revision; see timeline.Pod.Revision
	State     timeline.State `json:"state"`
	// Reason says why the start-up failed, for example Evicted or StartError. If the start-up did not fail, Reason says
	// why a container waits.
	Reason string `json:"reason,omitempty"`
	// Partial is true if another record of the start-up will follow. A partial record means that the start-up is in
	// progress, or that late evidence can still arrive.
	Partial bool `json:"partial,omitempty"`

	CreatedAt Instant `json:"created_at"`
	SettledAt Instant `json:"settled_at,omitzero"` // when the start-up ended; see timeline.Timeline.SettledAt
	// GoneAt is the time when the agent learned that the Pod object was removed. The API still returns the record for
	// some time after the removal.
	GoneAt     Instant `json:"gone_at,omitzero"`
	Total      Seconds `json:"total_seconds"`       // length of the start-up, or the age of a starting pod
	TotalError Seconds `json:"total_error_seconds"` // error bound of Total
	Verdict    string  `json:"verdict"`             // one sentence for people; its wording can change
	// Reconstructed is true if the start-up was over before the agent saw the pod. See timeline.Timeline.
	Reconstructed bool `json:"reconstructed,omitempty"`

	Phases     []PhaseRecord     `json:"phases"` // the seconds of all phases add up to exactly total_seconds
	Pulls      []PullRecord      `json:"pulls"`
	Probes     []ProbeRecord     `json:"probes,omitempty"` // startup probes and readiness probes
	Milestones []MilestoneRecord `json:"milestones"`
	Conflicts  []ConflictRecord  `json:"conflicts"`
	Missing    []string          `json:"missing"`
	// Unreported lists the milestones that the container runtime can never report. Each entry has the form
	// milestone[/container][#attempt], as in Missing.
	Unreported []string `json:"unreported,omitempty"`
	// LostEvents lists the Events that the kubelet must have created, but that the agent did not receive although an
	// Event watch was open. Each entry has the form reason/container.
	LostEvents []string `json:"lost_events,omitempty"`
	// Events lists the first 32 Events of the kubelet during the start-up, in order of time. The agent receives Events
	// only while an Event watch is open. Usually, the agent does not watch the Events Created and Started.
	Events []EventRecord `json:"events,omitempty"`
	// ClockSkew is present if evidence proves that the control plane's clock differs from the node's clock. The agent
	// adds the skew to the error bounds of the control plane's timestamps.
	ClockSkew *SkewRecord `json:"clock_skew,omitempty"`
	// Termination describes how the pod ends after the deletion request. Termination is not part of the start-up.
	// Termination is nil if there is no deletion request, or if the agent does not follow terminations.
	Termination *TerminationRecord `json:"termination,omitempty"`
	// WhatIf contains the changes that would make the start-up faster, the largest gain first. Only the response about
	// one start-up contains WhatIf. WhatIf is absent from lists, from the stream, and from records on standard output.
	WhatIf []WhatIfRecord `json:"what_if,omitempty"`
	// WhatIfUnknown contains the changes that might save much time, but whose effect the agent cannot predict. Only the
	// response about one start-up contains WhatIfUnknown.
	WhatIfUnknown []WhatIfUnknown `json:"what_if_unknown,omitempty"`
}

// HasDuration reports whether the duration of the start-up is known. A duration counts as known if its error bound is
// smaller than the duration, and if the node's clock was not set during the start-up.
func (r *Record) HasDuration() bool {
	return r.Total > 0 && r.TotalError >= 0 && r.TotalError < r.Total && !r.ClockWasSet()
}

// ClockWasSet reports whether the node's clock was set during the start-up (timeline.Timeline.ClockWasSet).
func (r *Record) ClockWasSet() bool { return slices.Contains(r.Missing, timeline.MissingClock) }

// SkewRecord is the difference between the control plane's clock and the node's clock. The true difference is between
// Least and Most. Least and Most are positive if the control plane's clock is ahead.
type SkewRecord struct {
	Least Seconds `json:"least_seconds"`
	Most  Seconds `json:"most_seconds"`
}

// OwnerRecord is the controller that owns the pod.
type OwnerRecord struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// PhaseRecord is one phase of the start-up.
type PhaseRecord struct {
	Phase     timeline.Phase `json:"phase"`
	Cause     timeline.Cause `json:"cause"`
	Container string         `json:"container,omitempty"`
	Attempt   int            `json:"attempt,omitempty"` // number of the attempt, from 0
	StartAt   Instant        `json:"start_at"`
	EndAt     Instant        `json:"end_at"`
	Length    Seconds        `json:"seconds"`
	Error     Seconds        `json:"error_seconds"` // error bound of Length
	// Open is true if the phase was in progress when the agent created the record.
	Open       bool              `json:"open,omitempty"`
	Sources    []timeline.Source `json:"sources"`
	MergedWith []timeline.Phase  `json:"merged_with,omitempty"`
	Pressure   *PressureRecord   `json:"pressure,omitempty"` // nil if not measured
	// ImageLoading is true if the container's image is lazy (PullRecord.Lazy), and the container can start or run
	// during the phase. The snapshotter might still download the image during this phase.
	ImageLoading bool `json:"image_loading,omitempty"`
}

// PressureRecord contains the node's pressure for each resource. The pressure is the share of the phase in which tasks
// on the node waited for the resource. Each share is from 0 to 1, rounded to a thousandth.
type PressureRecord struct {
	CPU    float64 `json:"cpu"`
	IO     float64 `json:"io"`
	Memory float64 `json:"memory"`
}

// ProbeRecord contains the settings of a container's startup probe or readiness probe.
type ProbeRecord struct {
	Container string             `json:"container"`
	Kind      timeline.ProbeKind `json:"kind"`
	// InitialDelay, Period, Timeout and SuccessThreshold are the fields of the probe in the pod's spec.
	InitialDelay     Seconds `json:"initial_delay_seconds,omitempty"`
	Period           Seconds `json:"period_seconds"`
	Timeout          Seconds `json:"timeout_seconds"`
	SuccessThreshold int     `json:"success_threshold"`
}

// PullRecord is one attempt to pull one container's image.
//
// Pulls for ephemeral containers are not part of the start-up, and their records come last in the list.
type PullRecord struct {
	Container string                 `json:"container"`
	Kind      timeline.ContainerKind `json:"kind,omitempty"`
	Image     string                 `json:"image"`
	Registry  string                 `json:"registry"`
	Digest    string                 `json:"digest,omitempty"`
	Outcome   imagepull.Outcome      `json:"outcome"`
	Failure   imagepull.Failure      `json:"failure,omitempty"` // reason why the pull failed
	// Unconfirmed is true if Events report the failure, but the pod's status does not.
	Unconfirmed bool    `json:"unconfirmed,omitempty"`
	RequestedAt Instant `json:"requested_at,omitzero"`
	StartedAt   Instant `json:"started_at,omitzero"`
	// DownloadedAt is the time when the last byte arrived. DownloadedAt is absent if the time is unknown.
	DownloadedAt Instant `json:"downloaded_at,omitzero"`
	FinishedAt   Instant `json:"finished_at,omitzero"`
	// Queue is the time from RequestedAt to StartedAt, and Pull is the time from StartedAt to FinishedAt. Error is the
	// error bound of Queue and of Pull. For a failed pull, the time from RequestedAt to FinishedAt differs from the sum
	// of Queue and Pull by at most Error. Queue, Pull and Error are nil if unknown.
	Queue     *Seconds `json:"queue_seconds,omitempty"`
	Pull      *Seconds `json:"pull_seconds,omitempty"`
	Error     *Seconds `json:"error_seconds,omitempty"`
	SizeBytes int64    `json:"size_bytes,omitempty"` // size of the image
	// Download and Unpack overlap, because the runtime unpacks one layer while other layers still arrive. Download,
	// Unpack and Layers are absent if no content arrived with this pull, or if the runtime does not report layers.
	Download *DownloadRecord `json:"download,omitempty"`
	Unpack   *UnpackRecord   `json:"unpack,omitempty"`
	Layers   []LayerRecord   `json:"layers,omitempty"`
	// Lazy is true if a snapshotter mounted layers without downloading them first. The snapshotter downloads the
	// content of these layers while the container runs.
	Lazy bool `json:"lazy,omitempty"`
	// Resumed is true if an interrupted attempt might have downloaded some of the layers.
	Resumed bool `json:"resumed,omitempty"`
	// Sized is true if the duration of the pull can be compared with its bytes. Three conditions must be met: the pull
	// downloaded content, Pull is known, and Download.Bytes is known and belongs to this pull alone. If Sized is false,
	// Download.Bytes divided by Pull is not the speed of the registry. See timeline.Pull.Sized.
	Sized bool `json:"sized,omitempty"`
	// BlockedBy identifies the pull that delayed this pull the longest in the node's queue. BlockedBy is a pull of
	// another pod, but can be a pull of the same image.
	BlockedBy *BlockerRecord `json:"blocked_by,omitempty"`
	// PullsAhead is the number of pulls that were ahead of this pull in the node's queue. PullsBeside is the largest
	// number of other pulls that ran in parallel with this pull. See timeline.Pull.
	PullsAhead  int               `json:"pulls_ahead,omitempty"`
	PullsBeside int               `json:"pulls_beside,omitempty"`
	Sources     []timeline.Source `json:"sources"`
	Attempt     int               `json:"attempt"` // number of the attempt, from 0
}

// IsPull reports whether the record counts as a pull. All lists and sums of pulls use IsPull. See imagepull.IsPull.
func (p PullRecord) IsPull() bool {
	return imagepull.IsPull(p.Outcome, p.RequestedAt.Time, p.StartedAt.Time, p.FinishedAt.Time)
}

// DownloadRecord describes the download of a pull. The download starts with the request to the runtime and ends when
// the last byte arrives.
type DownloadRecord struct {
	StartAt Instant `json:"start_at"`
	EndAt   Instant `json:"end_at"`
	Length  Seconds `json:"seconds"` // time from StartAt to EndAt
	// Bytes is the compressed size of the pull's layers, without the shared layers (LayerRecord.Shared).
	Bytes int64 `json:"bytes"`
	// BytesPerSecond is the download rate. BytesPerSecond is 0 if the rate is unknown, for example because some bytes
	// might have arrived before the pull, or might belong to another pull.
	BytesPerSecond int64 `json:"bytes_per_second,omitempty"`
}

// UnpackRecord describes when, and for how long, the runtime unpacked a pull's layers.
type UnpackRecord struct {
	StartAt Instant `json:"start_at"`
	EndAt   Instant `json:"end_at"`
	Busy    Seconds `json:"seconds"` // time in which the runtime unpacked layers, without waits for the registry
}

// LayerRecord is a layer that arrived with a pull. In the list PullRecord.Layers, the bottom layer comes first.
type LayerRecord struct {
	Digest       string  `json:"digest"`
	SizeBytes    int64   `json:"size_bytes,omitempty"`
	DownloadedAt Instant `json:"downloaded_at,omitzero"`
	UnpackedAt   Instant `json:"unpacked_at,omitzero"`
	// Shared is true if the layer arrived with another pod's pull. The bytes of a shared layer count for the other
	// pull, and not for this pull.
	Shared bool `json:"shared,omitempty"`
}

// BlockerRecord identifies a pull that delayed another pull, with the length of the delay.
type BlockerRecord struct {
	Namespace string  `json:"namespace"`
	Pod       string  `json:"pod"`
	Container string  `json:"container"`
	Image     string  `json:"image"`
	Waited    Seconds `json:"seconds"` // time for which the other pull waited
}

// MilestoneRecord describes when the start-up reached a milestone. The true time is between Earliest and Latest. JSON
// omits Earliest or Latest if it is unknown.
type MilestoneRecord struct {
	Milestone string            `json:"milestone"`
	Container string            `json:"container,omitempty"`
	Attempt   int               `json:"attempt,omitempty"`
	Earliest  Instant           `json:"earliest,omitzero"`
	Latest    Instant           `json:"latest,omitzero"`
	Sources   []timeline.Source `json:"sources"`
}

// EventRecord is one Event of the kubelet. A repeated Event appears only once.
type EventRecord struct {
	At        Instant `json:"at"`
	Container string  `json:"container,omitempty"`
	Reason    string  `json:"reason"`
	Message   string  `json:"message"` // at most 256 bytes, without credentials
}

// ConflictRecord describes a milestone for which the sources contradict each other.
type ConflictRecord struct {
	Milestone string `json:"milestone"`
	Container string `json:"container,omitempty"`
	Detail    string `json:"detail"`
}
