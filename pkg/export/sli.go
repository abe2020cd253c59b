package export

import (
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// sliDuration returns the start-up duration by the definition of Kubernetes' service level
// indicator: from the creation of the pod until all its containers were started, without image
// pulls and without the run of init containers. It is unknown, and ok is false, if a span that may contain a pull or
// such a run cannot be separated from others, or if a span is unexplained. (kubernetes/community,
// sig-scalability/slos/pod_startup_latency.md)
//
// It ends when the last container was started for the first time: a container that crashes
// afterwards, or is lost with its sandbox, was started. An init container that crashes delays the
// others: its back-off counts, its runs do not.
func sliDuration(t timeline.Timeline) (time.Duration, bool) {
	end, known := allStarted(t.Containers)
	if !known || end.Before(t.CreatedAt) {
		return 0, false
	}
	var sum time.Duration
	for _, s := range t.Phases {
		length := min(s.Duration(), end.Sub(s.StartAt))
		if length <= 0 {
			continue
		}
		may := mayHold(s)
		switch left := countExcluded(may); {
		case len(may) == 0: // it may be anything
			return 0, false
		case left == 0:
			sum += length
		case left < len(may):
			return 0, false
		}
	}
	return sum, true
}

// allStarted returns when the last of the containers that make a pod run was started for the first
// time.
func allStarted(containers []timeline.ContainerReached) (last time.Time, known bool) {
	for _, c := range containers {
		if c.Kind != timeline.KindMain && c.Kind != timeline.KindSidecar {
			continue
		}
		if c.RunningAt.IsZero() {
			return time.Time{}, false
		}
		if c.RunningAt.After(last) {
			last = c.RunningAt
		}
	}
	return last, !last.IsZero()
}

// mayHold returns the phases that a span may consist of; none if unknown.
func mayHold(s timeline.Span) []timeline.Phase {
	if s.Phase == timeline.PhaseUnattributed {
		return s.MergedWith
	}
	return append([]timeline.Phase{s.Phase}, s.MergedWith...)
}

// countExcluded counts the phases that the indicator excludes.
func countExcluded(phases []timeline.Phase) (n int) {
	for _, p := range phases {
		switch p {
		case timeline.PhasePullQueue, timeline.PhasePull, timeline.PhaseUnpack, timeline.PhaseImageBackoff,
			timeline.PhaseInitRun:
			n++
		}
	}
	return n
}
