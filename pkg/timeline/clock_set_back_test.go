package timeline

import (
	"testing"
	"time"
)

// TestClockSetBackDelaysNoReport sets the agent's clock back immediately after the end of a start-up. The start-up must
// settle after at most twice the wait for late Events. The runtime reports no facts about the pod.
func TestClockSetBackDelaysNoReport(t *testing.T) {
	for _, back := range []time.Duration{0, time.Second, 2 * runtimeGrace, 2 * eventGrace, time.Hour,
		1000 * time.Hour} {
		e := NewEvidence(Scope{Runtime: true, Events: true, Since: base.Add(-time.Hour)})
		pod := Pod{UID: "u", CreatedAt: base, Containers: []Container{{Name: "app", Image: "x"}}}
		e.Apply(PodSeen{ArrivedAt: base.Add(time.Second), Live: true, Pod: pod})
		pod.Phase = "Running"
		pod.Conditions = []Condition{{Type: "Ready", True: true, TransitionAt: base.Add(2 * time.Second)}}
		e.Apply(PodSeen{ArrivedAt: base.Add(2 * time.Second), Live: true, Pod: pod})
		if !e.Ended() {
			t.Fatal("not over")
		}
		waited := time.Duration(0)
		for ; !e.Settled(base.Add(2*time.Second - back + waited)); waited += time.Second {
			if waited > 2*eventGrace {
				t.Fatalf("put back by %s: not settled after %s", back, waited)
			}
		}
		if back == 0 && waited < runtimeGrace {
			t.Errorf("settled after %s, before the runtime could respond", waited)
		}
	}
}
