package api

import "github.com/podlapse/podlapse/pkg/timeline"

// WorkloadRecord is the response about the start-ups of one workload on the agent's node.
type WorkloadRecord struct {
	Node      string      `json:"node"` // the summary covers only the pods of this node
	Namespace string      `json:"namespace"`
	Owner     OwnerRecord `json:"owner"`
	// Earlier is the number of earlier start-ups that the summary omits. The summary covers the latest 200 start-ups,
	// or fewer if the pods have many containers.
	Earlier int `json:"earlier_start_ups,omitempty"`
	// Verdict is a text for people. Verdict states the durations of the measured start-ups, and the number of other
	// start-ups. The wording can change.
	Verdict string          `json:"verdict"`
	Summary WorkloadSummary `json:"summary"`
	// Differences contains one paragraph for each comparison in the summary, for people. The wording can change.
	Differences []string `json:"differences"`
	// WhatIf contains the changes that would make the start-ups faster. The change that saves the most time in all
	// start-ups together comes first.
	WhatIf []WhatIfMean `json:"what_if"`
	// WhatIfUnknown contains the changes that might save much time in at least half of the start-ups. A change is in
	// this list only if it has no prediction in any start-up.
	WhatIfUnknown []WhatIfUnknown `json:"what_if_unknown,omitempty"`
}

// WorkloadSummary describes the start-ups of one workload. Lists are never null. JSON omits values that are unknown.
type WorkloadSummary struct {
	StartUps WorkloadCounts `json:"start_ups"`
	// Durations and Slowest are nil if no completed start-up has a known duration.
	Durations *WorkloadDurations `json:"durations,omitempty"`
	Slowest   *WorkloadPod       `json:"slowest,omitempty"`
	// The means in Causes add up to exactly Durations.Mean. The means in Phases also add up to exactly Durations.Mean.
	// Both lists are sorted by mean, the largest first.
	Causes []WorkloadCause `json:"causes"`
	Phases []WorkloadPhase `json:"phases"`
	Images WorkloadImages  `json:"images"`
	// Nodes contains the nodes with enough start-ups for a comparison, the slowest first, at most 20.
	Nodes     []WorkloadNode     `json:"nodes"`
	Revisions []WorkloadRevision `json:"revisions"` // the latest revision first
	// Comparison compares two revisions. Comparison is nil if fewer than two revisions are known.
	Comparison *WorkloadComparison `json:"comparison,omitempty"`
}

// WorkloadCounts contains the number of start-ups of each kind. Durations and comparisons include only the measured
// start-ups.
type WorkloadCounts struct {
	Measured   int `json:"measured"` // completed, with a known duration
	InProgress int `json:"in_progress"`
	GivenUp    int `json:"given_up"` // not ready one hour after the agent first saw the pod
	Failed     int `json:"failed"`
	Deleted    int `json:"deleted"`          // deleted before the pod was ready
	Unknown    int `json:"unknown_duration"` // completed, but the error bound is as large as the duration
}

// WorkloadDurations describes the durations of measured start-ups. The percentiles use the nearest-rank method: P90 is
// the shortest duration within which at least 90 % of the start-ups completed. Each error bound is the greatest
// possible distance between the reported value and the true value.
type WorkloadDurations struct {
	StartUps     int     `json:"start_ups"`
	Mean         Seconds `json:"mean_seconds"`
	MeanError    Seconds `json:"mean_error_seconds"`
	P50          Seconds `json:"p50_seconds"`
	P50Error     Seconds `json:"p50_error_seconds"`
	P90          Seconds `json:"p90_seconds"`
	P90Error     Seconds `json:"p90_error_seconds"`
	Slowest      Seconds `json:"slowest_seconds"`
	SlowestError Seconds `json:"slowest_error_seconds"`
}

// WorkloadPod identifies a start-up.
type WorkloadPod struct {
	ID        string `json:"id"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	Node      string `json:"node"`
}

// WorkloadCause contains the mean time for which one cause is responsible, over all measured start-ups.
type WorkloadCause struct {
	Cause timeline.Cause `json:"cause"`
	Mean  Seconds        `json:"mean_seconds"`
	Error Seconds        `json:"error_seconds"` // sum of the errors of the phases with this cause
}

// WorkloadPhase contains the mean duration of one phase, over all measured start-ups.
type WorkloadPhase struct {
	Phase timeline.Phase `json:"phase"`
	Cause timeline.Cause `json:"cause"`
	Mean  Seconds        `json:"mean_seconds"`
	Error Seconds        `json:"error_seconds"` // mean error bound of the phase
}

// WorkloadImages compares the measured start-ups that pulled an image with the ones that pulled no image.
type WorkloadImages struct {
	// Present contains the start-ups on nodes that had all images. Pulled contains the start-ups that pulled an image.
	// If a group has no start-ups, its field is nil.
	Present *WorkloadDurations `json:"present,omitempty"`
	Pulled  *WorkloadDurations `json:"pulled,omitempty"`
	Unknown int                `json:"unknown"` // start-ups that might have pulled an image; the evidence is missing
	// Difference compares Pulled with Present. Difference is nil if one of the groups is empty. A common revision is a
	// revision that has start-ups in both groups. If there are common revisions, Present and Pulled contain only these
	// revisions. If there are several common revisions, Present and Pulled contain the same number of start-ups of each
	// revision. If the workload has revisions, but no common revision, Difference is nil.
	Difference *WorkloadDifference `json:"difference,omitempty"`
}

// WorkloadNode contains the start-ups of one node.
type WorkloadNode struct {
	Name      string            `json:"node"`
	Durations WorkloadDurations `json:"durations"`
	Others    WorkloadDurations `json:"others"` // start-ups of the same revisions on all other nodes
	// Difference compares this node with all other nodes. If several revisions have start-ups both on this node
	// and on other nodes, Durations and Others contain the same number of start-ups of each of these revisions.
	Difference WorkloadDifference `json:"difference"`
}

// WorkloadRevision contains the start-ups of one revision of the workload.
type WorkloadRevision struct {
	// Name is the value of the field `revision` of the records: the pod-template-hash or the controller-revision-hash.
	Name   string `json:"revision"`
	Number int64  `json:"number,omitempty"` // number of the revision in the workload's history; 0 if unknown
	// LatestAt is the creation time of the latest pod, even if the pod's start-up is not measured.
	LatestAt  Instant            `json:"latest_at"`
	Durations *WorkloadDurations `json:"durations,omitempty"` // nil if there are no measured start-ups
	// Pulled is the number of measured start-ups in which the pod had to pull an image. PulledOf is the number of
	// measured start-ups for which the records show whether the pod had to pull an image.
	Pulled   int `json:"pulled"`
	PulledOf int `json:"pulled_of"`
	// ImageBytes is the total size of all images of a pod. ImageBytes is 0 if the total size is unknown, if the pods
	// have different containers, or if the total sizes of the pods differ by more than 1 %.
	ImageBytes int64 `json:"image_bytes,omitempty"`
	// Containers contains the names of the containers that ImageBytes includes.
	Containers []string `json:"-"`
}

// WorkloadComparison compares two revisions.
type WorkloadComparison struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Difference compares the revision in the field To with the revision in the field From.
	Difference WorkloadDifference `json:"difference"`
}

// WorkloadDifference compares two groups of start-ups, in total and by phase. If Verdict is not MoreThanNoise, do not
// rely on the sign or the size of the difference.
type WorkloadDifference struct {
	Verdict WorkloadVerdict `json:"verdict"`
	// Seconds is the mean of the second group minus the mean of the first group. Error is the error bound of
	// Seconds.
	Seconds Seconds `json:"seconds"`
	Error   Seconds `json:"error_seconds"`
	// P is the p-value of the rank test, multiplied by the number of comparisons, but at most 1. PWithErrors is the
	// same p-value for adjusted durations. Each duration is adjusted within its error bound, so that the difference
	// becomes as small as possible. If the adjustment removes or reverses the difference, PWithErrors is 1. If a group
	// has fewer than 3 start-ups, both p-values are 0.
	P           float64 `json:"p,omitempty"`
	PWithErrors float64 `json:"p_with_errors,omitempty"`
	// Parts contains the phases that explain the difference, the largest difference first. Each phase in Parts makes up
	// at least 5 % of the whole difference. The difference of each phase in Parts is more than noise and more than the
	// error bounds. Parts is empty if the verdict is not MoreThanNoise. The field Seconds is the sum of the field Other
	// and the seconds of all parts.
	Parts []WorkloadPart `json:"parts"`
	Other Seconds        `json:"other_seconds"`
	// Unproven contains the phases whose means differ most, the largest difference first. For each phase in Unproven,
	// the data does not prove a difference between the two groups. Unproven contains phases only if the verdict is
	// MoreThanNoise and Parts is empty.
	Unproven []WorkloadPart `json:"unproven_parts,omitempty"`
}

// WorkloadPart is the contribution of one phase to a difference.
type WorkloadPart struct {
	Phase   timeline.Phase `json:"phase"`
	Cause   timeline.Cause `json:"cause"`
	Seconds Seconds        `json:"seconds"`       // mean of the second group minus the mean of the first group
	Error   Seconds        `json:"error_seconds"` // error bound of Seconds
	// P is the p-value of the rank test, corrected for the number of compared phases. The test uses adjusted durations.
	// Each duration is adjusted within its error bound, so that the difference becomes as small as possible.
	P float64 `json:"p"`
}

// WorkloadVerdict states whether the data shows a difference.
type WorkloadVerdict string

// Values of WorkloadVerdict. Only MoreThanNoise means that the data shows a difference.
const (
	// MoreThanNoise means that the difference is more than noise and more than the error bounds of the durations.
	MoreThanNoise WorkloadVerdict = "more_than_noise"
	WithinNoise   WorkloadVerdict = "within_noise"
	// WithinErrors means that the difference is more than noise, but the error bounds can explain the difference.
	WithinErrors WorkloadVerdict = "within_errors"
	// TooFew means that the number of start-ups is too small to prove a difference, whatever the durations are.
	TooFew WorkloadVerdict = "too_few"
)
