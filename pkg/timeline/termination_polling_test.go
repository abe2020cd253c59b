package timeline

import (
	"testing"
	"time"
)

// TestRuntimePollInterval checks that the agent queries the runtime often while a change is likely, and rarely
// for a stuck pod.
func TestRuntimePollInterval(t *testing.T) {
	const grace = 5 * time.Minute
	heard := base.Add(10 * time.Second)
	e := NewTerminationEvidence(PodSeen{ArrivedAt: heard, Live: true,
		Pod: Pod{UID: "uid-1", CreatedAt: base, DeletedAt: heard, DeletionGrace: grace}})
	for _, test := range []struct{ after, every time.Duration }{
		{0, time.Second}, {9 * time.Second, time.Second}, {11 * time.Second, 5 * time.Second},
		{grace - 2*time.Second, 5 * time.Second},
		{grace, time.Second}, {grace + 29*time.Second, time.Second}, {grace + 31*time.Second, 5 * time.Second},
		{grace + 9*time.Minute, 5 * time.Second}, {grace + 11*time.Minute, time.Minute},
		{30 * 24 * time.Hour, time.Minute},
	} {
		if got := e.QueryInterval(heard.Add(test.after)); got != test.every {
			t.Errorf("after %s every %s, want %s", test.after, got, test.every)
		}
	}
	e.Apply(PodGone{UID: "uid-1", ArrivedAt: heard.Add(time.Hour), Live: true})
	if got := e.QueryInterval(heard.Add(time.Hour)); got != 0 {
		t.Errorf("polled every %s after the pod is gone", got)
	}
}
