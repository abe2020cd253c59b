package export

import (
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// sliDuration returns the start-up duration as Kubernetes' service level indicator defines it (kubernetes/community,
// sig-scalability/slos/pod_startup_latency.md). The duration is the time from the creation of the pod until all its
// main containers and sidecars have started. Image pulls and the runs of init containers do not count. If the duration
// is unknown, the second result is false. For example, the duration is unknown in these cases:
//   - A main container or sidecar has not started.
//   - The phases of a span (timeline.Span) are unknown.
//   - A span can contain both phases that count and phases that do not count.
//
// The duration ends when the last main container or sidecar has started for the first time. If a container crashes
// after its first start, or if the pod loses its sandbox, the duration does not change. If an init container crashes,
// the time of its back-off counts, but the time of its runs does not count.
func sliDuration(t timeline.Timeline) (time.Duration, bool) {
	end, known := lastFirstStart(t.Containers)
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
		case len(may) == 0: // the span can contain any phase
			return 0, false
		case left == 0:
			sum += length
		case left < len(may):
			return 0, false
		}
	}
	return sum, true
}

// lastFirstStart returns the time when the last main container or sidecar started for the first time.
func lastFirstStart(containers []timeline.ContainerReached) (last time.Time, known bool) {
	for _, c := range containers {
		if c.Kind != timeline.KindMain && c.Kind != timeline.KindSidecar {
			continue
		}
		if c.RunningAt.IsZero() {
			return time.Time{}, false
		}
		last = later(c.RunningAt, last)
	}
	return last, !last.IsZero()
}

// mayHold returns the phases that a span can contain. If the phases are unknown, the result is empty.
func mayHold(s timeline.Span) []timeline.Phase {
	if s.Phase.IsGroup() {
		return s.MergedWith
	}
	return append([]timeline.Phase{s.Phase}, s.MergedWith...)
}

// countExcluded counts the phases that the service level indicator excludes.
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
