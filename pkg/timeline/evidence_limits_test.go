package timeline

import (
	"fmt"
	"testing"
	"time"
)

// TestInventedContainerNamesAreBounded simulates a user who creates Events about containers that do not exist.
func TestInventedContainerNamesAreBounded(t *testing.T) {
	var log PullLog
	pod := shopPod("a", "x")
	pod.CreatedAt = base
	e := NewEvidence(Scope{Events: true})
	e.Apply(PodSeen{ArrivedAt: base, Live: true, Pod: pod})
	for i := range 3 * maxContainers {
		at := base.Add(time.Duration(i) * time.Second)
		for _, o := range []EventSeen{
			{Container: fmt.Sprint("made-up-", i), Reason: "Pulling", Message: `Pulling image "x"`},
			{Container: fmt.Sprint("made-up-", i), Reason: "Pulled",
				Message: `Successfully pulled image "x" in 1s (1s including waiting)`},
			{Reason: "Pulling", Message: fmt.Sprintf("Pulling image %q", fmt.Sprint("made-up-", i))},
		} {
			o.UID, o.NamedAt, o.FirstAt, o.LastAt, o.Count = "a", at, at, at, 1
			e.Apply(o)
			log.Observe(o, pod)
		}
	}
	if len(e.containers) != 1+maxUnknownContainers || !e.overflow {
		t.Errorf("%d names are kept for a pod with one container; overflow: %t", len(e.containers), e.overflow)
	}
	if len(log.requests) != 0 || len(log.pulls) != 0 {
		t.Errorf("the log has %d requests and %d pulls of containers that the pod does not have", len(log.requests),
			len(log.pulls))
	}
	pod.Containers = append(pod.Containers, Container{Name: "debugger", Kind: KindEphemeral})
	e.Apply(PodSeen{ArrivedAt: base.Add(time.Second), Live: true, Pod: pod})
	if len(e.containers) != 2+maxUnknownContainers {
		t.Error("the evidence has no room for a container of the pod")
	}
}

// TestForgedRequestsAreBounded folds the largest evidence that one pod can have, and limits the number of its pulls.
func TestForgedRequestsAreBounded(t *testing.T) {
	folded, _ := fullEvidence(maxContainers).fold(at(base.Add(time.Hour)), Skew{})
	if got, limit := len(folded.Pulls), maxContainers*(maxAttempts+maxFailures+1); got > limit {
		t.Errorf("the timeline has %d pulls, want at most %d", got, limit)
	}
}
