package timeline

import (
	"testing"
	"time"
)

// TestLateStatus checks when a status suggests that the agent missed earlier statuses.
func TestLateStatus(t *testing.T) {
	second := func(s int) time.Time { return base.Truncate(time.Second).Add(time.Duration(s) * time.Second) }
	container := func(started int, hook bool) Container {
		return Container{State: StateRunning, StartedAt: second(started), PostStartHook: hook}
	}
	exited := container(15, false)
	exited.State, exited.FinishedAt = StateTerminated, second(20)
	for name, test := range map[string]struct {
		arrived    time.Time
		containers []Container
		want       bool
	}{
		"soon":                             {second(18), []Container{container(15, false)}, false},
		"long after the start":             {second(19), []Container{container(15, false)}, true},
		"soon after the second start":      {second(19), []Container{container(2, false), container(17, false)}, false},
		"soon after an exit":               {second(22), []Container{exited}, false},
		"during a hook":                    {second(60), []Container{container(15, true)}, false},
		"after a hook of the last start":   {second(60), []Container{exited, container(16, true)}, false},
		"after a hook of an earlier start": {second(60), []Container{container(15, true), container(15, false)}, true},
	} {
		pod := Pod{Containers: test.containers}
		if got := pod.isLate(test.arrived); got != test.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
	c := container(15, false)
	status := PodSeen{ArrivedAt: second(16), Live: false, Pod: Pod{Containers: []Container{c}}}
	var first firstRun
	if !first.add(&status, &c) || !first.late {
		t.Error("a status from a list is not late")
	}
	status.ArrivedAt, status.Live = second(17), true
	if first.add(&status, &c) || !first.late {
		t.Error("a later status replaced the first status")
	}
}
