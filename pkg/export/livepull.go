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
	// Starting are the timelines of the pods that start, or did a moment ago.
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

// Pulling says that content comes.
func (r LivePullRecord) Pulling() bool { return r.State == pullStatePulling }

// LivePullList is the answer to a request for the pulls that go on.
type LivePullList struct {
	Items []LivePullRecord `json:"items"`
}

// Records lists the pulls that go on, the oldest first. A download belongs to the pull of its repository that was asked for
// first; one whose repository is not known yet to the first that nothing comes for; else it is external.
func (l LivePulls) Records() []LivePullRecord {
	records := l.wanted()
	slices.SortStableFunc(records, oldestFirst)
	for _, d := range l.Downloads {
		if l.over(d) {
			continue
		}
		i := slices.IndexFunc(records, func(r LivePullRecord) bool {
			return r.State != pullStatePulling && d.Of(r.Image) || d.Repository == "" && r.State == pullStateQueued
		})
		if i < 0 {
			records = append(records, LivePullRecord{Outcome: imagepull.OutcomeExternal, Registry: cmp.Or(d.Registry, registryUnknown)})
			i = len(records) - 1
			if d.Repository != "" {
				records[i].Image = d.Registry + "/" + d.Repository
			}
		}
		if records[i].Age == 0 { // nobody told when it was asked for
			records[i].Age = Seconds(max(0, l.Now.Sub(d.StartedAt)))
		}
		records[i].State, records[i].DoneBytes, records[i].TotalBytes = pullStatePulling, d.DoneBytes, d.TotalBytes
	}
	records = slices.DeleteFunc(records, func(r LivePullRecord) bool { return r.Outcome == "" && r.State != pullStatePulling })
	for i := range records {
		records[i].Outcome = cmp.Or(records[i].Outcome, imagepull.OutcomePulling)
	}
	slices.SortStableFunc(records, oldestFirst)
	return records
}

// over says that the pull that the download was for has ended since it was asked about.
func (l LivePulls) over(d imagepull.Download) bool {
	const lately = 3 * time.Second // answers about downloads are a second old at most, and may take two
	for _, t := range l.Starting {
		for _, p := range t.Pulls {
			if d.Of(p.Image) && !p.FinishedAt.IsZero() && l.Now.Sub(p.FinishedAt) < lately && !d.StartedAt.After(p.FinishedAt) {
				return true
			}
		}
	}
	return false
}

func oldestFirst(a, b LivePullRecord) int { return cmp.Compare(b.Age, a.Age) }

// wanted lists the images that pods that start wait for. Of some nobody has told that kubelet asked for them, again or at all:
// they have no outcome and no state yet, and go on only if they are downloaded.
func (l LivePulls) wanted() []LivePullRecord {
	records := []LivePullRecord{}
	for _, t := range l.Starting {
		for i, p := range t.Pulls {
			if i+1 < len(t.Pulls) && t.Pulls[i+1].Container == p.Container {
				continue // an attempt that is over
			}
			r := LivePullRecord{Namespace: t.Namespace, Pod: t.Name, Container: p.Container, Image: p.Image, Registry: p.Registry}
			switch p.Outcome {
			case imagepull.OutcomePulling:
				r.Outcome, r.State, r.Age = p.Outcome, l.stateBefore(), Seconds(max(0, l.Now.Sub(p.RequestedAt)))
			case imagepull.OutcomeFailed, imagepull.OutcomeUnknown:
			default:
				continue
			}
			records = append(records, r)
		}
	}
	return records
}

// stateBefore is the state of a pull before any download of it is known.
func (l LivePulls) stateBefore() string {
	if l.Downloads == nil {
		return ""
	}
	return pullStateQueued
}
