package timeline

import (
	"testing"
	"time"
)

func TestVerdict(t *testing.T) {
	at := base
	span := func(p Phase, container string, d time.Duration) Span {
		at = at.Add(d)
		return Span{Phase: p, Container: container, StartAt: at.Add(-d), EndAt: at}
	}
	pulled := []Pull{{Container: "app", Registry: "ghcr.io"}}
	for want, timeline := range map[string]Timeline{
		"47.2 s to ready: 31.0 s in the node's pull queue, 9.1 s pulling from ghcr.io, 4.0 s network; ±0.5 s": {
			State: StateReady, Total: 47200 * time.Millisecond, TotalError: 500 * time.Millisecond, Pulls: pulled,
			Phases: []Span{span(PhaseNetwork, "", 4*time.Second), span(PhasePullQueue, "app", 31*time.Second),
				span(PhasePull, "app", 9100*time.Millisecond), span(PhaseContainerStart, "app", 3100*time.Millisecond)},
		},
		"deleted after 9.0 s, never ready: 8.0 s in runs of app that failed; ±0.0 s": {
			State: StateDeleted, Total: 9 * time.Second,
			Phases: []Span{span(PhaseFailedRun, "app", 3*time.Second), span(PhaseSandbox, "", 10*time.Millisecond),
				span(PhaseFailedRun, "app", 5*time.Second)},
		},
		"5.0 s to ready: 5.0 s until the last container was ready; ±0.0 s": { // which one that was is not known
			State: StateReady, Total: 5 * time.Second, Phases: []Span{span(PhaseReadinessProbe, "", 5*time.Second)},
		},
		"starting for 0.0 s; ±1.0 s": {State: StateStarting, TotalError: time.Second},
	} {
		if got := timeline.Verdict(); got != want {
			t.Errorf("verdict %q, want %q", got, want)
		}
	}
}

func TestEveryPhaseHasWords(t *testing.T) {
	for _, p := range Phases() {
		if row := rowOf(p); row.phase != p || row.words == "" || row.cause == "" {
			t.Errorf("row of %s: %+v", p, row)
		}
	}
}
