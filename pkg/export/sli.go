package export

import (
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// sliDuration is the start-up by the definition of Kubernetes' service level indicator: from the
// creation of the pod until all its containers were started, without image pulls and without the
// run of init containers. It is not known where a stretch that may hold a pull or such a run cannot
// be told apart from others, or is one that nothing explains, and false then.
// (kubernetes/community, sig-scalability/slos/pod_startup_latency.md)
//
// It ends when the last container was started for the first time: what crashes afterwards, or goes
// with its sandbox, was started. An init container that crashes keeps the others from it: its
// back-off counts, its runs do not.
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
		case len(may) == 0: // anything
			return 0, false
		case left == 0:
			sum += length
		case left < len(may):
			return 0, false
		}
	}
	return sum, true
}

// allStarted is when the last of the containers that make a pod run was started for the first time.
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

// mayHold are the phases that a stretch may be made of; none where nothing tells.
func mayHold(s timeline.Span) []timeline.Phase {
	if s.Phase == timeline.PhaseUnattributed {
		return s.MergedWith
	}
	return append([]timeline.Phase{s.Phase}, s.MergedWith...)
}

// countExcluded counts the phases that the indicator leaves out.
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
