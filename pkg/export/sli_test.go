package export

import (
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestSLI(t *testing.T) {
	const (
		scheduling = timeline.PhaseScheduling
		volumes    = timeline.PhaseVolumes
		sync       = timeline.PhaseKubeletSync
		queue      = timeline.PhasePullQueue
		pull       = timeline.PhasePull
		create     = timeline.PhaseContainerCreate
		start      = timeline.PhaseContainerStart
		unknown    = timeline.PhaseUnattributed
	)
	seconds := func(n int) time.Duration { return time.Duration(n) * time.Second }
	span := func(length int, phase timeline.Phase, merged ...timeline.Phase) timeline.Span {
		return timeline.Span{Phase: phase, MergedWith: merged, EndAt: time.Time{}.Add(seconds(length))}
	}
	running := func(kind timeline.ContainerKind, at int) timeline.ContainerReached {
		return timeline.ContainerReached{Kind: kind, RunningAt: after(seconds(at))}
	}
	type spans = []timeline.Span
	type containers = []timeline.ContainerReached
	for name, test := range map[string]struct {
		phases     spans
		containers containers
		want       int // seconds; negative if unknown
	}{
		"everything that it excludes": {
			spans{
				span(1, scheduling), span(2, volumes), span(30, queue), span(20, pull), span(5, timeline.PhaseUnpack),
				span(1, start),
				span(60, timeline.PhaseInitRun), span(10, timeline.PhaseImageBackoff), span(1, sync), span(2, start),
				span(100, timeline.PhaseReadinessProbe),
			},
			containers{{Kind: timeline.KindImageVolume}, running(timeline.KindInit, 59),
				running(timeline.KindSidecar, 59), running(timeline.KindMain, 132)},
			7,
		},
		"volumes or network": {spans{span(3, unknown, volumes, timeline.PhaseNetwork), span(1, start)},
			containers{running(timeline.KindMain, 4)}, 4},
		"sync or pull": {spans{span(3, unknown, sync, pull), span(1, start)},
			containers{running(timeline.KindMain, 4)}, -1},
		"queue or pull": {spans{span(3, unknown, queue, pull), span(1, start)},
			containers{running(timeline.KindMain, 4)}, 1},
		"anything":        {spans{span(3, unknown), span(1, start)}, containers{running(timeline.KindMain, 4)}, -1},
		"anything, later": {spans{span(1, start), span(3, unknown)}, containers{running(timeline.KindMain, 1)}, 1},
		"create or start": {spans{span(1, scheduling), span(5, pull), span(2, create, start)},
			containers{running(timeline.KindMain, 8)}, 3},
		"sync or start": {spans{span(1, start), span(2, sync, create, start)},
			containers{running(timeline.KindSidecar, 1), running(timeline.KindMain, 3)}, 3},
		"crash loop": {spans{span(1, start), span(3, timeline.PhaseFailedRun),
			span(10, timeline.PhaseCrashBackoff), span(1, start)}, containers{running(timeline.KindMain, 1)}, 1},
		"crash, then a pull": {spans{span(1, start), span(9, unknown, sync, pull)},
			containers{running(timeline.KindMain, 1)}, 1},
		"init container's": {spans{span(1, start), span(3, timeline.PhaseInitRun),
			span(10, timeline.PhaseCrashBackoff), span(1, start), span(3, timeline.PhaseInitRun), span(1, start)},
			containers{running(timeline.KindInit, 1), running(timeline.KindMain, 19)}, 13},
		"within a stretch": {spans{span(4, start), span(9, sync)}, containers{running(timeline.KindMain, 6)}, 6},
		"one container never started": {spans{span(3, start)},
			containers{running(timeline.KindMain, 3), {Kind: timeline.KindMain}}, -1},
		"no container":                {spans{span(3, scheduling)}, nil, -1},
		"started before its creation": {spans{span(3, start)}, containers{running(timeline.KindMain, -1)}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			pod := timeline.Timeline{CreatedAt: after(0), Reached: timeline.Reached{Containers: test.containers}}
			at := after(0)
			for _, s := range test.phases {
				s.StartAt, s.EndAt = at, at.Add(s.EndAt.Sub(time.Time{}))
				at = s.EndAt
				pod.Phases = append(pod.Phases, s)
			}
			got, known := sliDuration(pod)
			if known != (test.want >= 0) || known && got != seconds(test.want) {
				t.Errorf("%s, %t; want %d s", got, known, test.want)
			}
		})
	}
}
