package reconcile

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestClockSetDuringStartUp sets the clock while a pod starts, and then restarts the agent.
func TestClockSetDuringStartUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &fakeSaver{}
		r, observe, kill := startRestored(t, &desk{}, k, Restored{})
		pod := object()
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
		set := timeline.ClockSet{ArrivedAt: time.Now(), By: -time.Minute}
		observe(set)
		observe(set)
		if all, err := r.Present(t.Context()); err != nil || len(all) != 1 || !all[0].ClockWasSet() {
			t.Errorf("present %+v, %v", all, err)
		}
		kill()
		if len(k.kept) < 2 || k.kept[1] != timeline.Observation(set) {
			t.Fatalf("kept %+v, want the pod and the change", k.kept)
		}
		saved := slices.Clone(k.kept[:2])
		slices.Reverse(saved) // the order in the file
		d := &desk{}
		_, observe, stop := startRestored(t, d, &fakeSaver{}, Restored{InFlight: saved})
		defer stop()
		time.Sleep(time.Second)
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: ready(pod)})
		observe(timeline.PodGone{UID: pod.UID, ArrivedAt: time.Now(), Live: true})
		if len(d.settled) != 1 || !d.settled[0].ClockWasSet() || d.settled[0].TotalError < time.Minute {
			t.Errorf("settled %+v", d.settled)
		}
	})
}

// TestClockSetBeforeStartUp sets the clock forward before the pod arrives.
func TestClockSetBeforeStartUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		_, observe, stop := start(t, d, timeline.Scope{})
		defer stop()
		observe(timeline.ClockSet{ArrivedAt: time.Now(), By: time.Minute})
		time.Sleep(10 * time.Second)
		pod := object()
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: ready(pod)})
		observe(timeline.PodGone{UID: pod.UID, ArrivedAt: time.Now(), Live: true})
		if len(d.settled) != 1 || d.settled[0].ClockWasSet() {
			t.Errorf("settled %+v", d.settled)
		}
	})
}

// TestClockSetDuringLaterRun sets the clock during a run that ends after the start-up.
func TestClockSetDuringLaterRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		var runs []timeline.CompletedRun
		_, observe, stop := startWith(t, d, timeline.Scope{Runtime: true}, func(c *Config) {
			c.Optional.PostStartup = true
			c.alsoReport(PostStartup, func(r Report) { runs = append(runs, *r.PostStartup.Run) })
		})
		defer stop()
		pod := longReady(d, observe)
		time.Sleep(time.Minute)
		observe(timeline.ClockSet{ArrivedAt: time.Now(), By: 10 * time.Second})
		time.Sleep(time.Minute)
		pod.Containers[0].State, pod.Containers[0].FinishedAt = timeline.StateTerminated, time.Now()
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
		if len(runs) != 1 || runs[0].ClockSet != 10*time.Second {
			t.Errorf("runs %+v", runs)
		}
	})
}
