// Package livepull determines the progress of the node's image pulls. The package assigns the downloads of the
// container runtime to the pulls that pods wait for. Only the metrics collector reads live data: it gets a Snapshot at
// each scrape. All other functions of the package are pure. The read API, the stream and /metrics use this package.
package livepull

import (
	"cmp"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Snapshot holds the image pulls at one moment.
type Snapshot struct {
	// Starting holds the timelines of some pods. Each of these pods is starting, has just completed its start-up, or
	// has ephemeral containers.
	Starting []timeline.Timeline
	// Idle holds containers that are not running but that the kubelet can start. Before the kubelet starts an idle
	// container, the kubelet can pull the image. For a starting pod, Idle holds only the containers that have already
	// completed a run.
	Idle []timeline.IdleContainer
	// Downloads holds the runtime's downloads. If the runtime does not report downloads, Downloads is nil.
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

// requestedPull is a pull that is in progress or might be in progress.
type requestedPull struct {
	api.LivePullRecord
	// failedAt is the time of the pull's failure, and againAt is the time of the kubelet's next attempt. If the pull
	// did not fail, failedAt and againAt are zero. A download that began between failedAt and againAt does not belong
	// to this pull. Before againAt, the pull has no download, because the kubelet waits before the retry.
	failedAt, againAt time.Time
	notBefore         time.Time          // earliest possible start of the pull
	requestedAt       time.Time          // time of the request; zero if the pull might not be in progress
	idle              bool               // the pull is for a container in Snapshot.Idle
	matched           bool               // the pull has a matching download
	uid               string             // the pod's UID, for pulls of start-ups
	download          imagepull.Download // the download of the pull, found by the method Records
	onlyPod           bool               // no other starting pod can own the download
}

// againSlack is the tolerance for the time of a retry. The recorded time of a failure can be up to againSlack later
// than the real failure. Therefore, againAt is the calculated time of the retry minus againSlack. The download of the
// retry cannot begin before againAt.
const againSlack = 2 * time.Second

// requestSlack is the tolerance for the time at which the kubelet requested a pull. The recorded time can be up to
// requestSlack later than the real request.
const requestSlack = time.Second

// Since returns a time that is not later than the start of any pull in progress. If no pull is in progress, Since
// returns the zero time. The field Downloads must contain every pull that the runtime started after the returned time,
// even if the pull currently receives no content.
func (s Snapshot) Since() (since time.Time) {
	for _, w := range s.requestedPulls() {
		if !w.requestedAt.IsZero() && (since.IsZero() || w.requestedAt.Before(since)) {
			since = w.requestedAt
		}
	}
	if since.IsZero() {
		return since
	}
	return since.Add(-requestSlack)
}

// mayBe reports whether a download can belong to the pull.
func (w requestedPull) mayBe(d imagepull.Download, now time.Time) bool {
	if d.StartedAt.Before(w.notBefore) || now.Before(w.againAt) {
		return false
	}
	if d.Blobs == 0 && (w.requestedAt.IsZero() || d.StartedAt.Before(w.requestedAt.Add(-requestSlack))) {
		return false // the download belongs to a previous attempt or to another client
	}
	return w.againAt.IsZero() || !d.StartedAt.After(w.failedAt) || !d.StartedAt.Before(w.againAt)
}

// Records returns the pulls in progress, oldest first. Records assigns the downloads to the pulls by these rules:
//
//   - If the image reference of a pull contains the digest of the download, this pull gets the download.
//   - If no image reference contains the download's digest, a pull of an image from the download's repository gets the
//     download. Records searches the pulls in this order: pulls that are certainly in progress, pulls that might be in
//     progress, and pulls outside start-ups (see Idle).
//   - If several pulls request the same image, the oldest request gets the download.
//   - If several pulls match the download, but request different images, Records omits the download, because the right
//     pull is unknown.
//   - A download is external if no pull matches it, or if it began while the kubelet waited to retry. If an external
//     download has no blob in progress, Records omits the download.
//   - If a download can belong to a pull that has just ended, Records omits the download.
//   - If the repository of a download is unknown, the download matches each pull in progress that has no other
//     download. If no pull matches a download of an unknown repository, but a pod that is starting or has just started
//     can own the download, Records omits the download.
func (s Snapshot) Records() []api.LivePullRecord {
	records := []api.LivePullRecord{}
	for _, w := range s.assignDownloads() {
		if w.Outcome == "" && w.State == "" {
			continue
		}
		w.Outcome = cmp.Or(w.Outcome, imagepull.OutcomePulling)
		records = append(records, w.LivePullRecord)
	}
	slices.SortStableFunc(records, oldestFirst)
	return records
}

// assignDownloads returns the requested pulls with their downloads, and the external downloads. See Records.
func (s Snapshot) assignDownloads() []requestedPull {
	requested := s.requestedPulls()
	slices.SortStableFunc(requested, func(a, b requestedPull) int {
		return oldestFirst(a.LivePullRecord, b.LivePullRecord)
	})
	requested = append(requested, s.idlePulls()...)
	var external []requestedPull
	for _, d := range s.certainFirst(requested) {
		if s.isOver(d, func(p timeline.Pull) bool { return d.FromRepositoryOf(p.Image) }) {
			continue
		}
		fitting := s.pullsFitting(requested, d)
		switch {
		case severalImages(fitting):
			for _, w := range fitting {
				w.matched, w.State = true, ""
			}
		case len(fitting) > 0:
			fitting[0].assign(d, s.Now)
			fitting[0].onlyPod = isOnlyPod(requested, fitting[0], d)
		case d.Blobs == 0, d.Repository == "" && s.mayBeOurs(d):
			// A download gets no record if it has no blob in progress. If the repository of a download is unknown and
			// the download can belong to a pod (see mayBeOurs), the download also gets no record.
		default:
			w := requestedPull{LivePullRecord: api.LivePullRecord{Outcome: imagepull.OutcomeExternal,
				Registry: cmp.Or(d.Registry, imagepull.UnknownRegistry)}}
			if d.Repository != "" {
				w.Image = d.Registry + "/" + d.Repository
			}
			w.assign(d, s.Now)
			external = append(external, w)
		}
	}
	return append(requested, external...)
}

// assign assigns a download to the pull.
func (w *requestedPull) assign(d imagepull.Download, now time.Time) {
	if w.Age == 0 { // the time of the request is unknown
		w.Age = api.Seconds(max(0, now.Sub(d.StartedAt)))
	}
	w.matched, w.State, w.DoneBytes, w.TotalBytes = true, stateOf(d), d.DoneBytes, d.TotalBytes
	w.download = d
	if w.State == api.PullStatePulling {
		w.BytesPerSecond, w.Remaining = d.BytesPerSecond, api.Seconds(remainingTime(d))
	}
}

// hasDownload reports whether a download is assigned to the pull.
func (w *requestedPull) hasDownload() bool { return w.matched && w.State != "" }

// pullsFitting lists the pulls to which a download can belong. pullsFitting tries the rules below in order, and uses
// the first rule that any pull meets.
func (s Snapshot) pullsFitting(requested []requestedPull, d imagepull.Download) (fitting []*requestedPull) {
	for _, fits := range []func(*requestedPull) bool{
		func(w *requestedPull) bool { return d.FromRepositoryOf(w.Image) && d.HasDigestOf(w.Image) },
		func(w *requestedPull) bool {
			return d.FromRepositoryOf(w.Image) && w.Outcome == imagepull.OutcomePulling
		},
		func(w *requestedPull) bool { return d.FromRepositoryOf(w.Image) && !w.idle },
		func(w *requestedPull) bool { return d.FromRepositoryOf(w.Image) },
		func(w *requestedPull) bool { return d.Repository == "" && w.State == api.PullStateQueued },
	} {
		for i := range requested {
			if w := &requested[i]; !w.hasDownload() && w.mayBe(d, s.Now) && fits(w) {
				fitting = append(fitting, w)
			}
		}
		if len(fitting) > 0 {
			break
		}
	}
	return fitting
}

// certainFirst sorts the downloads. Downloads whose digest is in the image reference of a pull come first.
func (s Snapshot) certainFirst(requested []requestedPull) []imagepull.Download {
	uncertain := func(d imagepull.Download) int {
		if slices.ContainsFunc(requested, func(w requestedPull) bool { return d.HasDigestOf(w.Image) }) {
			return 0
		}
		return 1
	}
	return slices.SortedStableFunc(slices.Values(s.Downloads), func(a, b imagepull.Download) int {
		return cmp.Compare(uncertain(a), uncertain(b))
	})
}

// severalImages reports whether the pulls request different images.
func severalImages(pulls []*requestedPull) bool {
	return slices.ContainsFunc(pulls, func(w *requestedPull) bool {
		return imageOf(w.Image) != imageOf(pulls[0].Image)
	})
}

// imageOf returns the name under which containerd stores the image. For example, the result is the same for "nginx" and
// "docker.io/library/nginx:latest". If ref is not an image reference, imageOf returns ref.
func imageOf(ref string) string {
	if name, err := imagepull.Normalize(ref); err == nil {
		return name
	}
	return ref
}

// endedRecently reports whether a pull ended less than downloadAge ago, and the download did not begin after that end.
// The field Downloads can still contain the download of a pull that ended recently.
func (s Snapshot) endedRecently(d imagepull.Download, p timeline.Pull) bool {
	return !p.FinishedAt.IsZero() && s.Now.Sub(p.FinishedAt) < downloadAge && !d.StartedAt.After(p.FinishedAt)
}

// isOver reports whether a download can belong to a matching pull that has just ended.
func (s Snapshot) isOver(d imagepull.Download, matches func(timeline.Pull) bool) bool {
	for _, t := range s.Starting {
		for _, p := range slices.Concat(t.Pulls, t.EphemeralPulls) {
			if s.endedRecently(d, p) && matches(p) {
				return true
			}
		}
	}
	return false
}

// mayBeOurs reports whether a download of an unknown repository can belong to a pod that is starting or has just
// started. The manifest of a pull arrives before its layers. If the manifest is still unknown after 10 seconds,
// mayBeOurs considers the download an import, for example by "ctr images import".
func (s Snapshot) mayBeOurs(d imagepull.Download) bool {
	const named = 10 * time.Second
	if d.Digest == "" && s.Now.Sub(d.StartedAt) > named {
		return false
	}
	return slices.ContainsFunc(s.requestedPulls(), func(w requestedPull) bool { return w.mayBe(d, s.Now) }) ||
		s.isOver(d, func(timeline.Pull) bool { return true })
}

func oldestFirst(a, b api.LivePullRecord) int { return cmp.Compare(b.Age, a.Age) }

// requestedPulls lists the pulls that starting pods and ephemeral containers wait for, or might wait for. If a pull
// might not be in progress, its outcome and its state are empty. Records returns a pull that might not be in progress
// only if it finds a download for the pull.
func (s Snapshot) requestedPulls() []requestedPull {
	var requested []requestedPull
	for _, t := range s.Starting {
		requested = s.appendRequested(requested, t, t.Pulls)
		requested = s.appendRequested(requested, t, t.EphemeralPulls)
	}
	return requested
}

func (s Snapshot) appendRequested(
	requested []requestedPull, t timeline.Timeline, pulls []timeline.Pull,
) []requestedPull {
	for i, p := range pulls {
		if i+1 < len(pulls) && pulls[i+1].Container == p.Container {
			continue // a later attempt for this container follows
		}
		w := requestedPull{uid: t.UID, LivePullRecord: api.LivePullRecord{
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
		requested = append(requested, w)
	}
	return requested
}

// idlePulls lists the pulls that the kubelet can start outside start-ups.
func (s Snapshot) idlePulls() []requestedPull {
	var pulls []requestedPull
	for _, c := range s.Idle {
		pulls = append(pulls, requestedPull{idle: true, notBefore: c.RanUntil,
			LivePullRecord: api.LivePullRecord{Namespace: c.Namespace, Pod: c.Pod,
				Container: c.Container, Kind: c.Kind, Restart: !c.RanUntil.IsZero(), Image: c.Image,
				Registry: imagepull.Registry(c.Image)}})
	}
	slices.SortFunc(pulls, func(a, b requestedPull) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Pod, b.Pod),
			cmp.Compare(a.Container, b.Container))
	})
	return pulls
}

// stateBefore returns the state of a pull without a known download.
func (s Snapshot) stateBefore() string {
	if s.Downloads == nil {
		return ""
	}
	return api.PullStateQueued
}
