package export

import (
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// The answers of the API, beside Record and LivePullRecord. docs/openapi.json says what each field means.

// Problem is the body of every answer that is an error, save those of the health checks.
type Problem struct {
	Error  string `json:"error"`  // one word for programs
	Reason string `json:"reason"` // one sentence for people
}

// PodList is a page of start-ups.
type PodList struct {
	Items     []Record `json:"items"`
	Continue  string   `json:"continue,omitempty"`
	Remaining int      `json:"remaining,omitempty"`
}

// PullList is the image pulls that go on and those that are over, the latest first.
type PullList struct {
	Items  []LivePullRecord   `json:"items"`
	Recent []RecentPullRecord `json:"recent"`
}

// RecentPullRecord is a pull that is over, without its layers, and whose it was.
type RecentPullRecord struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	UID       string `json:"uid"`
	PullRecord
}

// PodKey names a start-up where there is no record to tell.
type PodKey struct {
	ID        string `json:"id"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
}

// NodeRecord is the node in numbers.
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

// AgentRecord is who answers.
type AgentRecord struct {
	Version   string  `json:"version"`
	Revision  string  `json:"revision"`
	StartedAt Instant `json:"started_at"`
}

// PodCounts are the pods whose object is there.
type PodCounts struct {
	Present int                    `json:"present"`
	States  map[timeline.State]int `json:"states"`
}

// StartingRecord is a phase that pods are in.
type StartingRecord struct {
	Phase  timeline.Phase `json:"phase"`
	Cause  timeline.Cause `json:"cause"`
	Pods   int            `json:"pods"`
	Oldest Seconds        `json:"oldest_seconds"`
}

// PullCounts are the pulls that go on.
type PullCounts struct {
	GoingOn int `json:"going_on"`
	Pulling int `json:"pulling"`
}

// HistoryRecord is how much is kept of pods that are gone.
type HistoryRecord struct {
	Pods       int     `json:"pods"`
	Bytes      int     `json:"bytes"`
	LimitPods  int     `json:"limit_pods"`
	LimitBytes int     `json:"limit_bytes"`
	Dropped    uint64  `json:"dropped"`
	OldestAt   Instant `json:"oldest_at,omitzero"`
}

// RegistryList is the registries by name.
type RegistryList struct {
	Items []RegistryRecord `json:"items"`
}

// RegistryRecord is what the pulls of the pods that are known add up to.
type RegistryRecord struct {
	Registry     string                    `json:"registry"`
	Outcomes     map[imagepull.Outcome]int `json:"outcomes"`
	Failures     map[imagepull.Failure]int `json:"failures"`
	GoingOn      int                       `json:"going_on"`
	Bytes        int64                     `json:"bytes"`
	DownloadTime Seconds                   `json:"download_seconds"`
	LastAt       Instant                   `json:"last_at,omitzero"`
}

// EvidenceRecord is how well the agent sees.
type EvidenceRecord struct {
	At           Instant        `json:"at"`
	Parts        []PartRecord   `json:"parts"`
	ClockSkew    *SkewRecord    `json:"clock_skew,omitempty"`
	StartUps     EvidenceCounts `json:"start_ups"`
	Total        Seconds        `json:"total_seconds"`
	Unattributed Seconds        `json:"unattributed_seconds"`
}

// PartRecord is what a part of the agent last said of itself.
type PartRecord struct {
	Part     string  `json:"part"`
	Up       bool    `json:"up"`
	Required bool    `json:"required"`
	Since    Instant `json:"since"`
	Detail   string  `json:"detail,omitempty"`
}

// EvidenceCounts are start-ups by what is wrong with their evidence.
type EvidenceCounts struct {
	Known          int `json:"known"`
	Reconstructed  int `json:"reconstructed"`
	WithConflicts  int `json:"with_conflicts"`
	WithMissing    int `json:"with_missing"`
	WithLostEvents int `json:"with_lost_events"`
}

// InstantOf is a point in time as records print it.
func InstantOf(t time.Time) Instant { return instantOf(t) }

// Skew prints how far the control plane's clock is ahead; nil where that is not proven.
func Skew(s timeline.Skew) *SkewRecord { return skewRecord(s) }
