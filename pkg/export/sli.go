package export

import (
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// sliDuration is the start-up by the definition of Kubernetes' service level indicator: from the creation of the pod until all
// its containers were started, without image pulls and without the run of init containers. It is not known where a stretch
// that may hold a pull or such a run cannot be told apart from others, and false then.
// (kubernetes/community, sig-scalability/slos/pod_startup_latency.md)
func sliDuration(t timeline.Timeline) (sum time.Duration, known bool) {
	var open time.Duration // since the last container was started
	for _, s := range t.Phases {
		if s.Phase == timeline.PhaseUnattributed && anyExcluded(s.MergedWith) {
			return 0, false
		}
		if !excluded(s.Phase) {
			open += s.Duration()
		}
		if s.Phase == timeline.PhaseContainerStart {
			sum, open, known = sum+open, 0, true
		}
	}
	return sum, known
}

// excluded says that the indicator leaves the phase out.
func excluded(p timeline.Phase) bool {
	switch p {
	case timeline.PhasePullQueue, timeline.PhasePull, timeline.PhaseUnpack, timeline.PhaseImageBackoff, timeline.PhaseInitRun:
		return true
	}
	return false
}

func anyExcluded(phases []timeline.Phase) bool {
	for _, p := range phases {
		if excluded(p) {
			return true
		}
	}
	return false
}
