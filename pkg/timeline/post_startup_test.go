package timeline

import (
	"reflect"
	"testing"
	"time"
)

// TestPostStartupReturnsEachRunOnce checks a container that runs, crashes, waits, runs for almost no time, and runs
// again. Each status of the kubelet also contains the previous run.
func TestPostStartupReturnsEachRunOnce(t *testing.T) {
	second := func(n int) time.Time { return base.Add(time.Duration(n) * time.Second) }
	run := func(from, to, code int, reason string) *Run {
		return &Run{StartedAt: second(from), FinishedAt: second(to), ExitCode: code, Reason: reason}
	}
	pod := func(c Container) Pod {
		c.Name = "app"
		return Pod{Containers: []Container{c}}
	}
	first := Container{State: StateRunning, StartedAt: second(1)}
	s := NewPostStartupRuns(pod(first))
	for i, step := range []struct {
		Container
		want []int // attempts of the returned runs
	}{
		{first, nil},
		{Container{State: StateTerminated, StartedAt: second(1), FinishedAt: second(5), ExitCode: 1,
			EndReason: "Error"},
			[]int{0}},
		{Container{State: StateWaiting, LastRun: run(1, 5, 1, "Error")}, nil},
		{Container{State: StateRunning, Attempt: 1, StartedAt: second(15), LastRun: run(1, 5, 1, "Error")}, nil},
		// Run 1 has also ended, but this status does not show run 1.
		{Container{State: StateWaiting, Attempt: 2, LastRun: run(36, 36, 137, "OOMKilled")}, []int{2}},
		{Container{State: StateTerminated, Attempt: 3, StartedAt: second(80), FinishedAt: second(81),
			LastRun: run(36, 36, 137, "OOMKilled")}, []int{3}},
		{Container{State: StateRunning, Attempt: 5, StartedAt: second(99), LastRun: run(85, 90, 0, "Completed")},
			[]int{4}},
		// The run ended before it began.
		{Container{State: StateRunning, Attempt: 6, StartedAt: second(99), LastRun: run(90, 85, 0, "")}, nil},
		{Container{State: StateWaiting, Attempt: -7, LastRun: run(1, 2, 0, "")}, nil},
	} {
		var got []int
		for _, ended := range s.Observe(pod(step.Container)) {
			got = append(got, ended.Attempt)
			if ended.Attempt == 2 && (ended.Signal != 9 || ended.Reason != "OOMKilled" ||
				!ended.FinishedAt.Equal(second(36))) {
				t.Errorf("%+v", ended)
			}
		}
		if !reflect.DeepEqual(got, step.want) {
			t.Errorf("step %d: runs %v, want %v", i, got, step.want)
		}
	}
	deleted := pod(Container{State: StateTerminated, Attempt: 9, StartedAt: second(100), FinishedAt: second(101)})
	deleted.DeletedAt = second(100)
	if got := s.Observe(deleted); len(got) > 0 {
		t.Errorf("of a pod that is deleted: %+v", got)
	}
	if got := NewPostStartupRuns(pod(Container{State: StateWaiting, Attempt: 2,
		LastRun: run(1, 5, 1, "")})).Observe(pod(Container{State: StateRunning, Attempt: 3, StartedAt: second(9),
		LastRun: run(1, 5, 1, "")})); len(got) > 0 {
		t.Errorf("of the start-up: %+v", got)
	}
}
