package timeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTerminationWithUnfollowedContainers checks a pod with more containers than the agent follows. A container that
// the agent does not follow can have stopped last. The time of its stop must not belong to another container.
func TestTerminationWithUnfollowedContainers(t *testing.T) {
	pod := Pod{UID: "uid-1", CreatedAt: base, DeletedAt: base.Add(10 * time.Second), DeletionGrace: 30 * time.Second,
		DeletionObserved: true}
	at := func(seconds int) time.Time { return base.Add(time.Duration(seconds) * time.Second) }
	response := RuntimeSeen{UID: pod.UID, QueriedAt: at(40), ArrivedAt: at(40), Sandboxes: []Sandbox{{ID: "s"}}}
	for n := range 10 * maxStops {
		name := fmt.Sprintf("app-%d", n)
		stopped := 11
		if n >= maxStops {
			stopped = 39
		}
		pod.Containers = append(pod.Containers,
			Container{Name: name, Kind: KindMain, State: StateRunning, StartedAt: at(1)})
		response.Containers = append(response.Containers,
			ContainerRun{Name: name, StartedAt: at(1), FinishedAt: at(stopped)})
	}
	e := NewTerminationEvidence(PodSeen{ArrivedAt: at(10), Live: true, Pod: pod})
	e.Apply(response)
	e.Apply(PodGone{UID: pod.UID, ArrivedAt: at(41), Live: true})
	end := e.Termination(at(42), Skew{})
	checkEnd(t, end)
	if len(e.stops) != maxStops || len(end.Stops) != maxStops {
		t.Errorf("%d are followed, %d reported, want %d", len(e.stops), len(end.Stops), maxStops)
	}
	if !slices.ContainsFunc(end.Missing, func(m string) bool { return strings.HasPrefix(m, "stopped/more than") }) {
		t.Errorf("missing %q", end.Missing)
	}
	for _, p := range end.Phases {
		if p.Phase == PhaseGrace || p.Phase == PhaseSandboxStop {
			t.Errorf("%s took %s ±%s, though unfollowed containers may have run until the sandbox stopped", p.Phase,
				p.Duration(), p.Error)
		}
	}
}
