// Package livepull finds out which image pulls of the node are in progress, and how far they are: it matches the pulls
// for which pods wait with the downloads of the container runtime. It is pure, except for the collector of metrics,
// which reads a Snapshot at each scrape. The read API, the stream and /metrics use it.
package livepull

import (
	"cmp"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Snapshot is the image pulls at one moment.
type Snapshot struct {
	// Starting are the timelines of the pods that are starting or were a moment ago, and of those
	// with ephemeral containers.
	Starting []timeline.Timeline
	// Idle are the containers that may be restarted, or that are in pods whose start-up is over.
	Idle []timeline.IdleContainer
	// Downloads are the runtime's downloads; nil if it does not report them.
	Downloads []imagepull.Download
	Now       time.Time
}

// stateOf returns the state of the pull to which a download belongs.
func stateOf(d imagepull.Download) string {
	if d.Complete {
		return api.PullStateUnpacking
	}
	return api.PullStatePulling
}

// wantedPull is a pull that is, or may be, in progress.
type wantedPull struct {
	api.LivePullRecord
	// A download that began between failedAt and againAt does not belong to this pull, and before againAt no download
	// does, because the kubelet waits before it retries. Zero for a pull that did not fail.
	failedAt, againAt time.Time
	notBefore         time.Time // the pull did not begin before this either
	requestedAt       time.Time // zero if the pull is not known to be in progress
	idle              bool      // its container restarts, or its pod's start-up is over
	matched           bool      // with a download
}

// againSlack is a tolerance: the kubelet may seem to retry this much too early, because the recorded time of a failure
// may be this much too late.
const againSlack = 2 * time.Second

// requestSlack is a tolerance: the recorded time of a pull request may be this much too late.
const requestSlack = time.Second

// Since returns the earliest time at which the runtime may have begun a pull that is in progress
// now. Downloads must include pulls begun since then of which nothing is being downloaded at the
// moment. Zero if no pull is in progress.
func (s Snapshot) Since() (since time.Time) {
	for _, w := range s.wanted() {
		if !w.requestedAt.IsZero() && (since.IsZero() || w.requestedAt.Before(since)) {
			since = w.requestedAt
		}
	}
	if since.IsZero() {
		return since
	}
	return since.Add(-requestSlack)
}

// mayBe reports whether a download may belong to this pull.
func (w wantedPull) mayBe(d imagepull.Download, now time.Time) bool {
	if d.StartedAt.Before(w.notBefore) || now.Before(w.againAt) {
		return false
	}
	if d.Blobs == 0 && (w.requestedAt.IsZero() || d.StartedAt.Before(w.requestedAt.Add(-requestSlack))) {
		return false // of a previous attempt, or of another client
	}
	return w.againAt.IsZero() || !d.StartedAt.After(w.failedAt) || !d.StartedAt.Before(w.againAt)
}

// Records lists the pulls in progress, the oldest first. A download belongs to the pull that names
// its digest, otherwise to one that wants an image of its repository: first to those known to be in
// progress, then to those that may be, then to containers that restart or whose pod's start-up is
// over. If several want the same image, it belongs to the one that was requested first; if they
// want different images, it belongs to none, because it is unknown which. A download that no pull
// wants is external, and so is one that began while the kubelet waited to retry. A download whose
// repository is not known yet belongs to the only pull for which nothing has arrived; it is omitted
// while it may belong to several, or to another starting pod.
func (s Snapshot) Records() []api.LivePullRecord {
	wanted := s.wanted()
	slices.SortStableFunc(wanted, func(a, b wantedPull) int { return oldestFirst(a.LivePullRecord, b.LivePullRecord) })
	wanted = append(wanted, s.idle()...)
	var external []wantedPull
	for _, d := range s.certainFirst(wanted) {
		if s.over(d) {
			continue
		}
		fitting := s.fitting(wanted, d)
		switch {
		case severalImages(fitting):
			for _, w := range fitting {
				w.matched, w.State = true, ""
			}
		case len(fitting) > 0:
			fitting[0].take(d, s.Now)
		case d.Blobs == 0, d.Repository == "" && s.mayBeOurs(d):
			// Such a download is either not known to be in progress, or its image will be known in a moment.
		default:
			w := wantedPull{LivePullRecord: api.LivePullRecord{Outcome: imagepull.OutcomeExternal,
				Registry: cmp.Or(d.Registry, imagepull.UnknownRegistry)}}
			if d.Repository != "" {
				w.Image = d.Registry + "/" + d.Repository
			}
			w.take(d, s.Now)
			external = append(external, w)
		}
	}
	records := []api.LivePullRecord{}
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

// take assigns a download to the pull.
func (w *wantedPull) take(d imagepull.Download, now time.Time) {
	if w.Age == 0 { // it is unknown when it was requested
		w.Age = api.Seconds(max(0, now.Sub(d.StartedAt)))
	}
	w.matched, w.State, w.DoneBytes, w.TotalBytes = true, stateOf(d), d.DoneBytes, d.TotalBytes
}

// has reports whether the pull is known to have a download.
func (w *wantedPull) has() bool { return w.matched && w.State != "" }

// fitting lists the pulls to which a download may belong, as far as evidence distinguishes them.
func (s Snapshot) fitting(wanted []wantedPull, d imagepull.Download) (fitting []*wantedPull) {
	for _, fits := range []func(*wantedPull) bool{
		func(w *wantedPull) bool { return d.Of(w.Image) && d.Is(w.Image) },
		func(w *wantedPull) bool { return d.Of(w.Image) && w.Outcome == imagepull.OutcomePulling },
		func(w *wantedPull) bool { return d.Of(w.Image) && !w.idle },
		func(w *wantedPull) bool { return d.Of(w.Image) },
		func(w *wantedPull) bool { return d.Repository == "" && w.State == api.PullStateQueued },
	} {
		for i := range wanted {
			if w := &wanted[i]; !w.has() && w.mayBe(d, s.Now) && fits(w) {
				fitting = append(fitting, w)
			}
		}
		if len(fitting) > 0 {
			break
		}
	}
	return fitting
}

// certainFirst sorts the downloads: those with a digest that identifies their pull come first.
func (s Snapshot) certainFirst(wanted []wantedPull) []imagepull.Download {
	uncertain := func(d imagepull.Download) int {
		if slices.ContainsFunc(wanted, func(w wantedPull) bool { return d.Is(w.Image) }) {
			return 0
		}
		return 1
	}
	return slices.SortedStableFunc(slices.Values(s.Downloads), func(a, b imagepull.Download) int {
		return cmp.Compare(uncertain(a), uncertain(b))
	})
}

// severalImages reports whether the pulls want different images.
func severalImages(pulls []*wantedPull) bool {
	return slices.ContainsFunc(pulls, func(w *wantedPull) bool { return imageOf(w.Image) != imageOf(pulls[0].Image) })
}

// imageOf returns a name that is equal for two references to the same image.
func imageOf(ref string) string {
	if name, err := imagepull.Normalize(ref); err == nil {
		return name
	}
	return ref
}

// overLately reports whether a pull ended so recently that a download that began earlier may still
// be reported.
func (s Snapshot) overLately(d imagepull.Download, p timeline.Pull) bool {
	const lately = 3 * time.Second // answers about downloads are at most a second old, and may take two
	return !p.FinishedAt.IsZero() && s.Now.Sub(p.FinishedAt) < lately && !d.StartedAt.After(p.FinishedAt)
}

// over reports whether the pull of a download has ended since the runtime was queried.
func (s Snapshot) over(d imagepull.Download) bool {
	for _, t := range s.Starting {
		for _, p := range slices.Concat(t.Pulls, t.EphemeralPulls) {
			if d.Of(p.Image) && s.overLately(d, p) {
				return true
			}
		}
	}
	return false
}

// mayBeOurs reports whether a pod that is starting, or was a moment ago, may have caused a download
// of an unknown repository. The layers of a pull arrive after its manifest, which names the
// repository. What stays without a name is an import.
func (s Snapshot) mayBeOurs(d imagepull.Download) bool {
	const named = 10 * time.Second
	if d.Digest == "" && s.Now.Sub(d.StartedAt) > named {
		return false
	}
	return slices.ContainsFunc(s.wanted(), func(w wantedPull) bool { return w.mayBe(d, s.Now) }) ||
		slices.ContainsFunc(s.Starting, func(t timeline.Timeline) bool {
			return slices.ContainsFunc(slices.Concat(t.Pulls, t.EphemeralPulls), func(p timeline.Pull) bool {
				return s.overLately(d, p)
			})
		})
}

func oldestFirst(a, b api.LivePullRecord) int { return cmp.Compare(b.Age, a.Age) }

// wanted lists the images for which starting pods and ephemeral containers wait. For some it is
// unknown whether the kubelet has requested them, or requested them again: they have no outcome and
// no state yet, and are in progress only if they are being downloaded.
func (s Snapshot) wanted() []wantedPull {
	var wanted []wantedPull
	for _, t := range s.Starting {
		wanted = s.appendWanted(wanted, t, t.Pulls)
		wanted = s.appendWanted(wanted, t, t.EphemeralPulls)
	}
	return wanted
}

func (s Snapshot) appendWanted(wanted []wantedPull, t timeline.Timeline, pulls []timeline.Pull) []wantedPull {
	for i, p := range pulls {
		if i+1 < len(pulls) && pulls[i+1].Container == p.Container {
			continue // a completed attempt
		}
		w := wantedPull{LivePullRecord: api.LivePullRecord{
			Namespace: t.Namespace, Pod: t.Name, Container: p.Container, Kind: p.Kind, Image: p.Image,
			Registry: p.Registry}}
		switch p.Outcome {
		case imagepull.OutcomePulling:
			w.requestedAt = p.RequestedAt
			w.Outcome, w.State, w.Age = p.Outcome, s.stateBefore(), api.Seconds(max(0, s.Now.Sub(p.RequestedAt)))
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

// idle lists the images that may be pulled outside start-ups.
func (s Snapshot) idle() []wantedPull {
	var wanted []wantedPull
	for _, c := range s.Idle {
		wanted = append(wanted, wantedPull{idle: true, notBefore: c.RanUntil,
			LivePullRecord: api.LivePullRecord{Namespace: c.Namespace, Pod: c.Pod,
				Container: c.Container, Kind: c.Kind, Restart: !c.RanUntil.IsZero(), Image: c.Image,
				Registry: imagepull.Registry(c.Image)}})
	}
	slices.SortFunc(wanted, func(a, b wantedPull) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Pod, b.Pod),
			cmp.Compare(a.Container, b.Container))
	})
	return wanted
}

// stateBefore returns the state of a pull before a download of it is known.
func (s Snapshot) stateBefore() string {
	if s.Downloads == nil {
		return ""
	}
	return api.PullStateQueued
}
