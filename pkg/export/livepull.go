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

// The states of a pull that goes on; empty where nobody tells, or not of which of several pulls it is.
const (
	// nothing has come: it waits in the node's queue, or for the registry's first answer
	pullStateQueued    = "queued"
	pullStatePulling   = "pulling"   // content comes
	pullStateUnpacking = "unpacking" // all of it has come
)

// stateOf is the state of a pull that a download is of.
func stateOf(d imagepull.Download) string {
	if d.Complete {
		return pullStateUnpacking
	}
	return pullStatePulling
}

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
	State    string            `json:"state,omitempty"` // absent when the runtime does not tell, or not of which pull
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
	// Nothing that began after failedAt and before againAt is this pull, and nothing at all before
	// againAt: kubelet waits before it tries again. Zero for one that did not fail.
	failedAt, againAt time.Time
	notBefore         time.Time // nor did it begin before that
	requestedAt       time.Time // zero when it is not known to go on
	idle              bool      // its container starts again, or its pod's start-up is over
	matched           bool      // with a download
}

// againSlack is by how much kubelet may seem to try again too early: what dates a failure may be late by so much.
const againSlack = 2 * time.Second

// requestSlack is by how much the request for a pull may be dated too late.
const requestSlack = time.Second

// Since is from when on the runtime may have begun a pull that goes on now: Downloads is to tell
// also of what was begun since and has nothing coming at the moment. Zero when no pull goes on.
func (l LivePulls) Since() (since time.Time) {
	for _, w := range l.wanted() {
		if !w.requestedAt.IsZero() && (since.IsZero() || w.requestedAt.Before(since)) {
			since = w.requestedAt
		}
	}
	if since.IsZero() {
		return since
	}
	return since.Add(-requestSlack)
}

// mayBe says that kubelet can be behind a download.
func (w wantedPull) mayBe(d imagepull.Download, now time.Time) bool {
	if d.StartedAt.Before(w.notBefore) || now.Before(w.againAt) {
		return false
	}
	if d.Blobs == 0 && (w.requestedAt.IsZero() || d.StartedAt.Before(w.requestedAt.Add(-requestSlack))) {
		return false // of an attempt before, or of somebody else's
	}
	return w.againAt.IsZero() || !d.StartedAt.After(w.failedAt) || !d.StartedAt.Before(w.againAt)
}

// Records lists the pulls that go on, the oldest first. A download belongs to the pull that names
// its digest, or else to the one that wants an image of its repository: first of those that are
// known to go on, then of those that may, then of containers that start again or whose pod's
// start-up is over. Of several that want the same image it belongs to the one that was asked for
// first; if they want different ones nothing tells which, and it belongs to none. What no pull
// wants is external, and so is what began while kubelet waited to try again. A download whose
// repository is not known yet belongs to the only pull for which nothing has come; it is left out
// while it may be of several, or of another pod that starts.
func (l LivePulls) Records() []LivePullRecord {
	wanted := l.wanted()
	slices.SortStableFunc(wanted, func(a, b wantedPull) int { return oldestFirst(a.LivePullRecord, b.LivePullRecord) })
	wanted = append(wanted, l.idle()...)
	var external []wantedPull
	for _, d := range l.certainFirst(wanted) {
		if l.over(d) {
			continue
		}
		fitting := l.fitting(wanted, d)
		switch {
		case severalImages(fitting):
			for _, w := range fitting {
				w.matched, w.State = true, ""
			}
		case len(fitting) > 0:
			fitting[0].take(d, l.Now)
		case d.Blobs == 0, d.Repository == "" && l.mayBeOurs(d):
			// Nothing says that it goes on; or what it is of will show in a moment.
		default:
			w := wantedPull{LivePullRecord: LivePullRecord{Outcome: imagepull.OutcomeExternal,
				Registry: cmp.Or(d.Registry, imagepull.UnknownRegistry)}}
			if d.Repository != "" {
				w.Image = d.Registry + "/" + d.Repository
			}
			w.take(d, l.Now)
			external = append(external, w)
		}
	}
	records := []LivePullRecord{}
	for _, w := range append(wanted, external...) {
		if w.Outcome == "" && w.State == "" {
			continue
		}
		w.Outcome = cmp.Or(w.Outcome, imagepull.OutcomePulling)
		records = append(records, w.LivePullRecord)
	}
	slices.SortStableFunc(records, oldestFirst)
	return records
}

// take has a pull be the one that a download is of.
func (w *wantedPull) take(d imagepull.Download, now time.Time) {
	if w.Age == 0 { // nobody told when it was asked for
		w.Age = Seconds(max(0, now.Sub(d.StartedAt)))
	}
	w.matched, w.State, w.DoneBytes, w.TotalBytes = true, stateOf(d), d.DoneBytes, d.TotalBytes
}

// has says that a download is known to be the pull's: it has one.
func (w *wantedPull) has() bool { return w.matched && w.State != "" }

// fitting lists the pulls that a download may be of, as far as evidence tells them apart.
func (l LivePulls) fitting(wanted []wantedPull, d imagepull.Download) (fitting []*wantedPull) {
	for _, fits := range []func(*wantedPull) bool{
		func(w *wantedPull) bool { return d.Of(w.Image) && d.Is(w.Image) },
		func(w *wantedPull) bool { return d.Of(w.Image) && w.Outcome == imagepull.OutcomePulling },
		func(w *wantedPull) bool { return d.Of(w.Image) && !w.idle },
		func(w *wantedPull) bool { return d.Of(w.Image) },
		func(w *wantedPull) bool { return d.Repository == "" && w.State == pullStateQueued },
	} {
		for i := range wanted {
			if w := &wanted[i]; !w.has() && w.mayBe(d, l.Now) && fits(w) {
				fitting = append(fitting, w)
			}
		}
		if len(fitting) > 0 {
			break
		}
	}
	return fitting
}

// certainFirst lists the downloads, first those of which a digest tells whose they are.
func (l LivePulls) certainFirst(wanted []wantedPull) []imagepull.Download {
	uncertain := func(d imagepull.Download) int {
		if slices.ContainsFunc(wanted, func(w wantedPull) bool { return d.Is(w.Image) }) {
			return 0
		}
		return 1
	}
	return slices.SortedStableFunc(slices.Values(l.Downloads), func(a, b imagepull.Download) int {
		return cmp.Compare(uncertain(a), uncertain(b))
	})
}

// severalImages says that pulls want images that are not the same.
func severalImages(pulls []*wantedPull) bool {
	return slices.ContainsFunc(pulls, func(w *wantedPull) bool { return imageOf(w.Image) != imageOf(pulls[0].Image) })
}

// imageOf is by what two references to one image are the same.
func imageOf(ref string) string {
	if name, err := imagepull.Normalize(ref); err == nil {
		return name
	}
	return ref
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

// mayBeOurs says that a pod which starts, or did a moment ago, may be behind a download whose
// repository is not known. Layers of a pull come once its manifest is there, which tells it; what
// stays nameless is imported.
func (l LivePulls) mayBeOurs(d imagepull.Download) bool {
	const named = 10 * time.Second
	if d.Digest == "" && l.Now.Sub(d.StartedAt) > named {
		return false
	}
	return slices.ContainsFunc(l.wanted(), func(w wantedPull) bool { return w.mayBe(d, l.Now) }) ||
		slices.ContainsFunc(l.Starting, func(t timeline.Timeline) bool {
			return slices.ContainsFunc(slices.Concat(t.Pulls, t.Debug), func(p timeline.Pull) bool {
				return l.overLately(d, p)
			})
		})
}

func oldestFirst(a, b LivePullRecord) int { return cmp.Compare(b.Age, a.Age) }

// wanted lists the images that pods that start wait for, and ephemeral containers. Of some nobody
// has told that kubelet asked for them, again or at all: they have no outcome and no state yet, and
// go on only if they are downloaded.
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
			Namespace: t.Namespace, Pod: t.Name, Container: p.Container, Kind: p.Kind, Image: p.Image,
			Registry: p.Registry}}
		switch p.Outcome {
		case imagepull.OutcomePulling:
			w.requestedAt = p.RequestedAt
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
		wanted = append(wanted, wantedPull{idle: true, notBefore: c.RanUntil,
			LivePullRecord: LivePullRecord{Namespace: c.Namespace, Pod: c.Pod,
				Container: c.Container, Kind: c.Kind, Restart: !c.RanUntil.IsZero(), Image: c.Image,
				Registry: imagepull.Registry(c.Image)}})
	}
	slices.SortFunc(wanted, func(a, b wantedPull) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Pod, b.Pod),
			cmp.Compare(a.Container, b.Container))
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
