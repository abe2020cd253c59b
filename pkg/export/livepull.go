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
	// Starting are the timelines of the pods that start, or did a moment ago, and of those that somebody debugs.
	Starting []timeline.Timeline
	// Idle are the containers that may be started again, or in pods whose start-up is over.
	Idle []timeline.IdleContainer
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
	// Kind is the container's; Restart says that it has run before, so that the pull is charged to no start-up.
	Kind    timeline.ContainerKind `json:"kind,omitempty"`
	Restart bool                   `json:"restart,omitempty"`

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

// wantedPull is a pull that goes on or that may.
type wantedPull struct {
	LivePullRecord
	// Nothing that began after failedAt and before againAt is this pull, and nothing at all before againAt: kubelet waits
	// before it tries again. Zero for one that did not fail.
	failedAt, againAt time.Time
	notBefore         time.Time // nor did it begin before that
}

// againSlack is by how much kubelet may seem to try again too early: what dates a failure may be late by so much.
const againSlack = 2 * time.Second

// mayBe says that kubelet can be behind a download.
func (w wantedPull) mayBe(d imagepull.Download, now time.Time) bool {
	if d.StartedAt.Before(w.notBefore) || now.Before(w.againAt) {
		return false
	}
	return w.againAt.IsZero() || !d.StartedAt.After(w.failedAt) || !d.StartedAt.Before(w.againAt)
}

// Records lists the pulls that go on, the oldest first. A download belongs to the pull of its repository that was asked for
// first; one whose repository is not known yet to the first that nothing comes for; else to a container that starts
// again, or whose pod's start-up is over; else it is external. So is one that began while kubelet waited to try again.
// One whose repository is not known is left out while it may be of a pod that starts.
func (l LivePulls) Records() []LivePullRecord {
	wanted := l.wanted()
	slices.SortStableFunc(wanted, func(a, b wantedPull) int { return oldestFirst(a.LivePullRecord, b.LivePullRecord) })
	wanted = append(wanted, l.idle()...)
	for _, d := range l.Downloads {
		if l.over(d) {
			continue
		}
		i := slices.IndexFunc(wanted, func(w wantedPull) bool {
			return w.mayBe(d, l.Now) && (w.State != pullStatePulling && d.Of(w.Image) || d.Repository == "" && w.State == pullStateQueued)
		})
		if i < 0 && d.Repository == "" && l.mayBeOurs(d) {
			continue // what it is of will show in a moment
		}
		if i < 0 {
			wanted = append(wanted, wantedPull{LivePullRecord: LivePullRecord{
				Outcome: imagepull.OutcomeExternal, Registry: cmp.Or(d.Registry, imagepull.UnknownRegistry)}})
			i = len(wanted) - 1
			if d.Repository != "" {
				wanted[i].Image = d.Registry + "/" + d.Repository
			}
		}
		if wanted[i].Age == 0 { // nobody told when it was asked for
			wanted[i].Age = Seconds(max(0, l.Now.Sub(d.StartedAt)))
		}
		wanted[i].State, wanted[i].DoneBytes, wanted[i].TotalBytes = pullStatePulling, d.DoneBytes, d.TotalBytes
	}
	records := []LivePullRecord{}
	for _, w := range wanted {
		if w.Outcome == "" && w.State != pullStatePulling {
			continue
		}
		w.Outcome = cmp.Or(w.Outcome, imagepull.OutcomePulling)
		records = append(records, w.LivePullRecord)
	}
	slices.SortStableFunc(records, oldestFirst)
	return records
}

// overLately says that a pull ended so lately that a download which began before may be told of still.
func (l LivePulls) overLately(d imagepull.Download, p timeline.Pull) bool {
	const lately = 3 * time.Second // answers about downloads are a second old at most, and may take two
	return !p.FinishedAt.IsZero() && l.Now.Sub(p.FinishedAt) < lately && !d.StartedAt.After(p.FinishedAt)
}

// over says that the pull that the download was for has ended since it was asked about.
func (l LivePulls) over(d imagepull.Download) bool {
	for _, t := range l.Starting {
		for _, p := range slices.Concat(t.Pulls, t.Debug) {
			if d.Of(p.Image) && l.overLately(d, p) {
				return true
			}
		}
	}
	return false
}

// mayBeOurs says that a pod which starts, or did a moment ago, may be behind a download.
func (l LivePulls) mayBeOurs(d imagepull.Download) bool {
	return slices.ContainsFunc(l.wanted(), func(w wantedPull) bool { return w.mayBe(d, l.Now) }) ||
		slices.ContainsFunc(l.Starting, func(t timeline.Timeline) bool {
			return slices.ContainsFunc(slices.Concat(t.Pulls, t.Debug), func(p timeline.Pull) bool { return l.overLately(d, p) })
		})
}

func oldestFirst(a, b LivePullRecord) int { return cmp.Compare(b.Age, a.Age) }

// wanted lists the images that pods that start wait for, and ephemeral containers. Of some nobody has told that kubelet asked
// for them, again or at all: they have no outcome and no state yet, and go on only if they are downloaded.
func (l LivePulls) wanted() []wantedPull {
	var wanted []wantedPull
	for _, t := range l.Starting {
		wanted = l.appendWanted(wanted, t, t.Pulls)
		wanted = l.appendWanted(wanted, t, t.Debug)
	}
	return wanted
}

func (l LivePulls) appendWanted(wanted []wantedPull, t timeline.Timeline, pulls []timeline.Pull) []wantedPull {
	for i, p := range pulls {
		if i+1 < len(pulls) && pulls[i+1].Container == p.Container {
			continue // an attempt that is over
		}
		w := wantedPull{LivePullRecord: LivePullRecord{
			Namespace: t.Namespace, Pod: t.Name, Container: p.Container, Kind: p.Kind, Image: p.Image, Registry: p.Registry}}
		switch p.Outcome {
		case imagepull.OutcomePulling:
			w.Outcome, w.State, w.Age = p.Outcome, l.stateBefore(), Seconds(max(0, l.Now.Sub(p.RequestedAt)))
		case imagepull.OutcomeFailed:
			if !p.FinishedAt.IsZero() {
				w.failedAt, w.againAt = p.FinishedAt, p.FinishedAt.Add(imagepull.Backoff(p.Attempt+1)-againSlack)
			}
		case imagepull.OutcomeUnknown:
		default:
			continue
		}
		wanted = append(wanted, w)
	}
	return wanted
}

// idle lists what may be pulled beside start-ups.
func (l LivePulls) idle() []wantedPull {
	var wanted []wantedPull
	for _, c := range l.Idle {
		wanted = append(wanted, wantedPull{notBefore: c.RanUntil, LivePullRecord: LivePullRecord{Namespace: c.Namespace, Pod: c.Pod,
			Container: c.Container, Kind: c.Kind, Restart: !c.RanUntil.IsZero(), Image: c.Image, Registry: imagepull.Registry(c.Image)}})
	}
	slices.SortFunc(wanted, func(a, b wantedPull) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.Container, b.Container))
	})
	return wanted
}

// stateBefore is the state of a pull before any download of it is known.
func (l LivePulls) stateBefore() string {
	if l.Downloads == nil {
		return ""
	}
	return pullStateQueued
}
