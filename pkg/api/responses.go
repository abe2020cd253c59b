package api

import (
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// This file defines the types of the API's responses. Other files define Record, LivePullRecord and TotalsRecord.
// docs/openapi.json describes each field.

// Problem is the body of every error response, except for health checks.
type Problem struct {
	Error  string `json:"error"`  // the kind of error as one word, for programs
	Reason string `json:"reason"` // one sentence for people
}

// PodList is a page of start-ups.
type PodList struct {
	Items     []Record `json:"items"`
	Continue  string   `json:"continue,omitempty"`
	Remaining int      `json:"remaining,omitempty"`
}

// PullList contains the image pulls in progress, and the completed pulls with the latest one first.
type PullList struct {
	Items  []LivePullRecord   `json:"items"`
	Recent []RecentPullRecord `json:"recent"`
}

// RecentPullRecord is a completed pull. RecentPullRecord names the pull's pod, but contains no layers.
type RecentPullRecord struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	UID       string `json:"uid"`
	PullRecord
}

// PodKey identifies a start-up in a stream event that contains no record.
type PodKey struct {
	ID        string `json:"id"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
}

// NodeRecord is the summary of the node.
type NodeRecord struct {
	Node     string           `json:"node"`
	At       Instant          `json:"at"`
	Ready    bool             `json:"ready"`
	Agent    AgentRecord      `json:"agent"`
	Pods     PodCounts        `json:"pods"`
	Starting []StartingRecord `json:"starting"`
	Pulls    PullCounts       `json:"pulls"`
	History  HistoryRecord    `json:"history"`
}

// AgentRecord identifies the agent that sent the response.
type AgentRecord struct {
	Version   string  `json:"version"`
	Revision  string  `json:"revision"`
	StartedAt Instant `json:"started_at"`
}

// PodCounts counts the pods whose Pod object still exists.
type PodCounts struct {
	Present int                    `json:"present"` // number of pods whose Pod object still exists
	States  map[timeline.State]int `json:"states"`  // number of pods in each state; states without pods are absent
}

// StartingRecord contains a phase, and the number of pods that are in this phase now.
type StartingRecord struct {
	Phase  timeline.Phase `json:"phase"`
	Cause  timeline.Cause `json:"cause"`
	Pods   int            `json:"pods"`
	Oldest Seconds        `json:"oldest_seconds"` // longest time that one of these pods has spent in the phase so far
}

// PullCounts counts the pulls in progress.
type PullCounts struct {
	InProgress int `json:"in_progress"` // includes waiting pulls
	Pulling    int `json:"pulling"`     // pulls that are receiving content
}

// HistoryRecord describes the agent's history of deleted pods: its size and its limits.
type HistoryRecord struct {
	Pods       int     `json:"pods"`
	Bytes      int     `json:"bytes"` // memory that the history uses
	LimitPods  int     `json:"limit_pods"`
	LimitBytes int     `json:"limit_bytes"`
	Dropped    uint64  `json:"dropped"`            // number of pods that the history dropped because of a limit
	OldestAt   Instant `json:"oldest_at,omitzero"` // deletion time of the oldest pod in the history
}

// PhaseList contains all phases, in the order of a start-up.
type PhaseList struct {
	Items []PhaseMeaning `json:"items"`
}

// PhaseMeaning explains a phase in one sentence.
type PhaseMeaning struct {
	Phase timeline.Phase `json:"phase"`
	Cause timeline.Cause `json:"cause"`
	Text  string         `json:"text"` // for people; the wording can change
}

// RegistryList contains the registries, sorted by name.
type RegistryList struct {
	Items []RegistryRecord `json:"items"`
}

// RegistryRecord contains the sums of the pulls from one registry, for all known pods.
type RegistryRecord struct {
	Registry   string                    `json:"registry"`
	Outcomes   map[imagepull.Outcome]int `json:"outcomes"`
	Failures   map[imagepull.Failure]int `json:"failures"`
	InProgress int                       `json:"in_progress"`
	// Bytes is the number of bytes that the pulls downloaded, without the pulls of unknown size. A layer that several
	// pulls share counts once. DownloadTime is the total duration of the same downloads.
	Bytes        int64   `json:"bytes"`
	DownloadTime Seconds `json:"download_seconds"`
	LastAt       Instant `json:"last_at,omitzero"` // end of the latest completed pull
}

// EvidenceRecord describes the quality of the agent's evidence.
type EvidenceRecord struct {
	At           Instant        `json:"at"`
	Parts        []PartRecord   `json:"parts"`
	ClockSkew    *SkewRecord    `json:"clock_skew,omitempty"`
	StartUps     EvidenceCounts `json:"start_ups"`
	Total        Seconds        `json:"total_seconds"`        // sum of the durations of all known start-ups
	Unattributed Seconds        `json:"unattributed_seconds"` // part of Total that evidence assigns to no cause
}

// PartRecord is the latest status that a part of the agent reported.
type PartRecord struct {
	Part     string  `json:"part"`
	Up       bool    `json:"up"`
	Required bool    `json:"required"`
	Since    Instant `json:"since"`
	Detail   string  `json:"detail,omitempty"`
}

// EvidenceCounts contains the number of start-ups for each kind of problem with the evidence.
type EvidenceCounts struct {
	Known          int `json:"known"`
	Reconstructed  int `json:"reconstructed"`
	WithConflicts  int `json:"with_conflicts"`
	WithMissing    int `json:"with_missing"`
	WithLostEvents int `json:"with_lost_events"`
	// WithUnreported is the number of start-ups with a milestone that the container runtime can never report.
	WithUnreported int `json:"with_unreported"`
}
