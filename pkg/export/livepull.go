package export

import (
	"cmp"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// LivePulls is what is pulled at one moment.
type LivePulls struct {
	// Starting are the timelines of the pods that start.
	Starting []timeline.Timeline
	// Downloads are what the runtime downloads; nil when it does not tell.
	Downloads []imagepull.Download
	Now       time.Time
}

// The states of a pull that goes on.
const (
	pullStateQueued  = "queued"  // nothing comes: it waits in the node's queue, or for the registry's first answer
	pullStatePulling = "pulling" // content comes
)

// LivePullRecord is one pull that goes on.
type LivePullRecord struct {
	// The container that asked for it; absent of what none of the node's pods asked for.
	Namespace string `json:"namespace,omitempty"`
	Pod       string `json:"pod,omitempty"`
	Container string `json:"container,omitempty"`

	Image    string            `json:"image"`
	Registry string            `json:"registry"`
	Outcome  imagepull.Outcome `json:"outcome"`         // pulling or external
	State    string            `json:"state,omitempty"` // absent when the runtime does not tell
	Age      Seconds           `json:"age_seconds"`     // since kubelet asked for it, or since it began
	// How much has come, of how much; absent while that is not known.
	DoneBytes  int64 `json:"done_bytes,omitempty"`
	TotalBytes int64 `json:"total_bytes,omitempty"`
}

// LivePullList is the answer to a request for the pulls that go on.
type LivePullList struct {
	Items []LivePullRecord `json:"items"`
}

// Records lists the pulls that go on, the oldest first. A download belongs to the pull of its repository that was asked for
// first; one whose repository is not known yet to the first that nothing comes for; else it is external.
func (l LivePulls) Records() []LivePullRecord {
	records := []LivePullRecord{}
	for _, t := range l.Starting {
		for _, p := range t.Pulls {
			if p.Outcome == imagepull.OutcomePulling {
				records = append(records, LivePullRecord{
					Namespace: t.Namespace, Pod: t.Name, Container: p.Container, Image: p.Image, Registry: p.Registry,
					Outcome: p.Outcome, Age: Seconds(max(0, l.Now.Sub(p.RequestedAt))), State: l.stateBefore(),
				})
			}
		}
	}
	oldestFirst := func(a, b LivePullRecord) int { return cmp.Compare(b.Age, a.Age) }
	slices.SortStableFunc(records, oldestFirst)
	for _, d := range l.Downloads {
		i := slices.IndexFunc(records, func(r LivePullRecord) bool {
			return r.Outcome == imagepull.OutcomePulling && (d.Of(r.Image) || d.Repository == "" && r.State == pullStateQueued)
		})
		if i < 0 {
			records = append(records, LivePullRecord{
				Image: d.Registry + "/" + d.Repository, Registry: cmp.Or(d.Registry, registryUnknown),
				Outcome: imagepull.OutcomeExternal, Age: Seconds(max(0, l.Now.Sub(d.StartedAt))),
			})
			if d.Repository == "" {
				records[len(records)-1].Image = ""
			}
			i = len(records) - 1
		}
		records[i].State = pullStatePulling
		records[i].DoneBytes += d.DoneBytes
		records[i].TotalBytes += d.TotalBytes
	}
	slices.SortStableFunc(records, oldestFirst)
	return records
}

// stateBefore is the state of a pull before any download of it is known.
func (l LivePulls) stateBefore() string {
	if l.Downloads == nil {
		return ""
	}
	return pullStateQueued
}
