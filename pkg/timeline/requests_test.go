package timeline

import (
	"fmt"
	"testing"
	"time"
)

// TestEventsAreWatchedWithoutRuntime checks pods that arrive while the runtime responds late or never. The agent
// must request the kubelet's Events when the runtime's response is overdue, and not before.
func TestEventsAreWatchedWithoutRuntime(t *testing.T) {
	second := func(s float64) time.Time { return base.Add(time.Duration(s * float64(time.Second))) }
	response := func(at float64, present bool) Observation {
		return RuntimeSeen{UID: "u", QueriedAt: second(at - 0.1), ArrivedAt: second(at),
			Images: []Image{{Ref: "x", Present: present}}}
	}
	seen := func(at float64, ready bool) Observation {
		pod := Pod{UID: "u", CreatedAt: base, AcknowledgedAt: base,
			Containers: []Container{{Name: "app", Kind: KindMain, Image: "x", PullPolicy: PullIfNotPresent}}}
		if ready {
			pod.Conditions = []Condition{{Type: "Ready", True: true, TransitionAt: second(at)}}
			pod.Containers[0].State, pod.Containers[0].StartedAt = StateRunning, base
		}
		return PodSeen{ArrivedAt: second(at), Live: true, Pod: pod}
	}
	// The sandbox is running, so that the agent does not wait for a sandbox.
	sandbox := RuntimeSeen{UID: "u", QueriedAt: second(0.1), ArrivedAt: second(0.2),
		Sandboxes: []Sandbox{{ID: "s", Ready: true, CreatedAt: second(0.1)}}}
	for name, test := range map[string]struct {
		resumedAt    float64 // zero for an agent that was never interrupted
		observations []Observation
		at           float64
		want         bool
	}{
		"it may still respond": {0, []Observation{seen(0, false), sandbox}, 4.9, false},
		"it did not respond":   {0, []Observation{seen(0, false), sandbox}, 5.1, true},
		"it responds late, without the image": {0, []Observation{seen(0, false), sandbox, response(7, false)}, 7.1,
			true},
		"it responds late, with the image": {0, []Observation{seen(0, false), sandbox, response(7, true)}, 7.1,
			false},
		"it responds at once": {0, []Observation{seen(0, false), sandbox, response(0.3, true)}, 60,
			false},
		"a previous agent queried before":       {30, []Observation{seen(0, false), sandbox}, 34.9, false},
		"this agent queried without a response": {30, []Observation{seen(0, false), sandbox}, 35.1, true},
		"over, and it may still respond":        {0, []Observation{seen(0, false), sandbox, seen(1, true)}, 3.9, false},
		"over, and its response is overdue":     {0, []Observation{seen(0, false), sandbox, seen(1, true)}, 4.1, true},
		"over, and late Events are overdue too": {0, []Observation{seen(0, false), sandbox, seen(1, true)}, 16.1,
			false},
	} {
		scope := Scope{Runtime: true, Events: true}
		if test.resumedAt > 0 {
			scope.ResumedAt = second(test.resumedAt)
		}
		e := NewEvidence(scope)
		for _, o := range test.observations {
			e.Apply(o)
		}
		if got := e.Requests(second(test.at)).Events; got != test.want {
			t.Errorf("%s: at %g s, Events requested: %t", name, test.at, got)
		}
	}
}

// TestNoEventWatchWhileRuntimeResponses checks nodes on which all images are present. For any distribution of the
// runtime's responses over the first seconds, no watch may open.
func TestNoEventWatchWhileRuntimeResponds(t *testing.T) {
	for pods := range 110 {
		e := NewEvidence(Scope{Runtime: true, Events: true})
		pod := Pod{UID: fmt.Sprint(pods), CreatedAt: base,
			Containers: []Container{{Name: "a", Image: "x", PullPolicy: PullIfNotPresent},
				{Name: "b", Image: "y", PullPolicy: PullIfNotPresent}}}
		e.Apply(PodSeen{ArrivedAt: base, Pod: pod})
		responded := base.Add(time.Duration(pods) * runtimePatience / 110)
		for at := base; at.Before(base.Add(time.Minute)); at = at.Add(100 * time.Millisecond) {
			if !at.Before(responded) {
				e.Apply(RuntimeSeen{UID: pod.UID, QueriedAt: responded, ArrivedAt: responded,
					Images: []Image{{Ref: "x", Present: true}, {Ref: "y", Present: true}}})
			}
			if e.Requests(at).Events {
				t.Fatalf("responded after %s, Events are requested after %s", responded.Sub(base), at.Sub(base))
			}
		}
	}
}
