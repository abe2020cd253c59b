package api

import "github.com/podlapse/podlapse/pkg/timeline"

// ReportRecord contains sums of one node, for the fleet report. The sums cover the start-ups that ended between Since
// and At, and the start-ups in progress. If the response has several pages, each page is one ReportRecord.
type ReportRecord struct {
	Node string  `json:"node"`
	At   Instant `json:"at"`
	// Since is the time from which the sums are complete. Usually, Since is the start of an hour, or the time when the
	// node's first agent started. If the node had no agent for more than an hour, Since is one hour before the agent
	// started again.
	Since Instant `json:"since"`
	// Totals contains the totals of the node for all namespaces, without the histograms of durations. Only the first
	// page contains Totals, and only if the request selects no namespace.
	Totals *TotalsRecord `json:"totals,omitempty"`
	// Items contains the workloads and the images, sorted by kind, namespace and name.
	Items     []ReportItem `json:"items"`
	Continue  string       `json:"continue,omitempty"`
	Remaining int          `json:"remaining,omitempty"`
}

// ReportKind is the kind of a ReportItem.
type ReportKind string

// The kinds of items.
const (
	ReportImage    ReportKind = "image"
	ReportWorkload ReportKind = "workload"
)

// ReportItem contains the sums of one workload, or of one image in one namespace.
type ReportItem struct {
	Kind      ReportKind `json:"kind"`
	Namespace string     `json:"namespace,omitempty"`
	// Owner is the owner of the workload's pods. In each namespace, all pods without an owner share one item with an
	// empty Owner.
	Owner    OwnerRecord `json:"owner,omitzero"`
	Image    string      `json:"image,omitempty"`
	Registry string      `json:"registry,omitempty"` // registry of the image
	// The agent keeps only a limited number of items separately. Other is true if the item combines all further items
	// of its kind. An item that combines other items has no namespace and no name.
	Other bool `json:"other,omitempty"`
	// StartUps is the number of the workload's start-ups that ended with any result. Failures is the number of ended
	// start-ups that did not succeed: the pod failed or was deleted, or the agent gave up on the pod.
	StartUps   int `json:"start_ups"`
	Failures   int `json:"failures"`
	InProgress int `json:"in_progress"`
	// Total is the total duration of the workload's start-ups, including the current age of start-ups in progress.
	// Unfinished is the part of Total that belongs to start-ups in progress and to start-ups that did not succeed. The
	// start-ups in Unfinished lack later phases, so they are not suitable for comparisons. Causes splits Total and
	// Unfinished by cause.
	Total      Seconds       `json:"seconds"`
	Unfinished Seconds       `json:"unfinished_seconds"`
	Causes     []CauseTotals `json:"causes"`
	Pulls      PullTotals    `json:"pulls"`
}

// CauseTotals contains the total duration of the phases that have the same cause.
type CauseTotals struct {
	Cause      timeline.Cause `json:"cause"`
	Length     Seconds        `json:"seconds"`
	Unfinished Seconds        `json:"unfinished_seconds"`
}

// Add adds the sums of another item to i. The kind and the names in i do not change.
func (i *ReportItem) Add(other ReportItem) {
	i.StartUps += other.StartUps
	i.Failures += other.Failures
	i.InProgress += other.InProgress
	i.Total += other.Total
	i.Unfinished += other.Unfinished
	for _, cause := range other.Causes {
		i.AddCause(cause)
	}
	i.Pulls.Add(other.Pulls)
}

// AddCause adds the duration of one cause to i.
func (i *ReportItem) AddCause(cause CauseTotals) {
	for k := range i.Causes {
		if i.Causes[k].Cause == cause.Cause {
			i.Causes[k].Length += cause.Length
			i.Causes[k].Unfinished += cause.Unfinished
			return
		}
	}
	i.Causes = append(i.Causes, cause)
}
