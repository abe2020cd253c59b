package livepull

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// downloadAge is the maximum age of a download in a Snapshot. The runtime takes up to 2 s to respond, and the agent
// reuses a response for 1 s.
const downloadAge = 3 * time.Second

// Bound divides the open phase (the phase in progress) of each starting pod whose image the runtime downloads or
// unpacks. The parts of the open phase are the time before the download, the download, and the unpacking. Without data
// about the download, the evidence cannot separate the queue, the download and the unpacking, so the open phase is
// unattributed until the pull ends. Bound never modifies the argument.
//
// If a download might belong to another pod or to an earlier attempt, Bound returns the pod's timeline unchanged.
func (s Snapshot) Bound(timelines []timeline.Timeline) []timeline.Timeline {
	if len(s.Downloads) == 0 {
		return timelines
	}
	downloads := map[string]requestedPull{}
	for _, w := range s.assignDownloads() {
		if w.hasDownload() && w.onlyPod && w.download.FromRepositoryOf(w.Image) {
			downloads[w.uid] = w
		}
	}
	bounded := slices.Clone(timelines)
	for i := range bounded {
		if w, ok := downloads[bounded[i].UID]; ok && Undecided(bounded[i]) {
			bounded[i].Phases = w.divideOpenPhase(bounded[i].Phases)
		}
	}
	return bounded
}

// Undecided reports whether a pull can be part of a timeline's open phase. If the result is false, Bound does not
// divide the open phase.
func Undecided(t timeline.Timeline) bool {
	if len(t.Phases) == 0 {
		return false
	}
	last := t.Phases[len(t.Phases)-1]
	return last.Open && mayPull(last)
}

// isOnlyPod returns true if the owner of a download is a starting pod, and no other starting pod requests an image from
// the download's repository.
func isOnlyPod(requested []requestedPull, owner *requestedPull, d imagepull.Download) bool {
	return owner.uid != "" && !slices.ContainsFunc(requested, func(w requestedPull) bool {
		return !w.idle && w.uid != owner.uid && d.FromRepositoryOf(w.Image)
	})
}

// divideOpenPhase divides the open phase into three parts: the time before the pull, the download, and the unpacking.
// The time before the pull ends when the pull is certainly running (see ranSince). The result also contains all other
// phases of the timeline. If the open phase cannot be divided, divideOpenPhase returns the phases unchanged.
func (w *requestedPull) divideOpenPhase(phases []timeline.Span) []timeline.Span {
	last := phases[len(phases)-1]
	began := w.ranSince(last.StartAt)
	if last.Container != w.Container || began.IsZero() || began.After(last.EndAt) {
		return phases
	}
	parts := slices.Clip(phases[:len(phases)-1])
	until := last.EndAt // the end of the download
	if w.State == api.PullStateUnpacking {
		if until = earlierOf(w.download.ArrivedAt, last.EndAt); until.Before(began) {
			return phases
		}
	}
	before := last
	before.MergedWith = slices.DeleteFunc(slices.Clone(last.MergedWith),
		func(p timeline.Phase) bool { return p == timeline.PhaseUnpack })
	before.Error = max(last.Error, began.Sub(last.StartAt))
	pull := last
	pull.Phase, pull.Cause, pull.MergedWith = timeline.PhasePull, timeline.CauseOf(timeline.PhasePull), nil
	pull.Error = before.Error + downloadAge
	unpack := pull
	unpack.Phase, unpack.Cause = timeline.PhaseUnpack, timeline.CauseOf(timeline.PhaseUnpack)
	for _, part := range []struct {
		timeline.Span
		from, to time.Time
	}{{before, last.StartAt, began}, {pull, began, until}, {unpack, until, last.EndAt}} {
		if part.to.After(part.from) {
			part.StartAt, part.EndAt, part.Open = part.from, part.to, part.to.Equal(last.EndAt)
			parts = append(parts, part.Span)
		}
	}
	return parts
}

func earlierOf(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// ranSince returns the earliest time at which the pull was certainly running. The result is the start of the download
// or the arrival of the manifest, whichever was earlier. ranSince ignores times before the argument "start". If both
// times are before "start", ranSince returns the zero time.
func (w *requestedPull) ranSince(start time.Time) (since time.Time) {
	for _, at := range []time.Time{w.download.StartedAt, w.download.ResolvedAt} {
		if !at.Before(start) && (since.IsZero() || at.Before(since)) {
			since = at
		}
	}
	return since
}

// mayPull reports whether a span has a group phase that can include a pull. A group phase stands for several phases
// that the evidence cannot separate.
func mayPull(s timeline.Span) bool {
	return s.Phase.IsGroup() && slices.Contains(s.MergedWith, timeline.PhasePull)
}
