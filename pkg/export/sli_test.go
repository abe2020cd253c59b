package export

import (
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestSLI(t *testing.T) {
	pod := func(phases ...any) (t timeline.Timeline) {
		at := createdAt
		for i := 0; i < len(phases); i += 2 {
			end := at.Add(time.Duration(phases[i+1].(int)) * time.Second)
			t.Phases = append(t.Phases, timeline.Span{Phase: phases[i].(timeline.Phase), StartAt: at, EndAt: end})
			at = end
		}
		return t
	}
	common := []any{timeline.PhaseScheduling, 1, timeline.PhaseVolumes, 2, timeline.PhasePullQueue, 30, timeline.PhasePull, 20, timeline.PhaseUnpack, 5,
		timeline.PhaseContainerStart, 1, timeline.PhaseInitRun, 60, timeline.PhaseKubeletSync, 1, timeline.PhaseContainerStart, 2}
	whole := pod(append(common, timeline.PhaseReadinessProbe, 100)...)
	if got, known := sliDuration(whole); !known || got != 7*time.Second {
		t.Errorf("%s, %t", got, known)
	}
	vague := pod(append([]any{timeline.PhaseUnattributed, 3}, common...)...)
	vague.Phases[0].MergedWith = []timeline.Phase{timeline.PhaseVolumes, timeline.PhaseNetwork}
	if got, known := sliDuration(vague); !known || got != 10*time.Second {
		t.Errorf("volumes or network: %s, %t", got, known)
	}
	vague.Phases[0].MergedWith = []timeline.Phase{timeline.PhaseKubeletSync, timeline.PhasePull}
	if _, known := sliDuration(vague); known {
		t.Error("a stretch that may be a pull is counted")
	}
	if _, known := sliDuration(pod(timeline.PhaseScheduling, 3)); known {
		t.Error("a pod that never started is counted")
	}
}
