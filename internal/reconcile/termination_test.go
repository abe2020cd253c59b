package reconcile

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// longReady is a pod that has been ready for so long that nothing more is asked about it.
func longReady(d *desk, observe func(timeline.Observation)) timeline.Pod {
	pod := ready(object())
	pod.Containers[0].PullPolicy = timeline.PullNever
	observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
	time.Sleep(5 * time.Minute)
	synctest.Wait()
	d.take()
	return pod
}

// A pod that was ready is deleted: the runtime is asked while it ends, the API tells of it, and
// once it is gone it is handed out once.
func TestTerminationOfReadyPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended []timeline.Timeline
		d := &desk{}
		r, observe, stop := startWith(t, d, timeline.Scope{Runtime: true}, func(c *Config) {
			c.Follow.Terminations = true
			c.also(Terminated, func(tl timeline.Timeline) {
				d.note("terminated %s", tl.Name)
				ended = append(ended, tl)
			})
		})
		defer stop()
		pod := longReady(d, observe)

		pod.DeletedAt, pod.DeletionGrace, pod.DeletionObserved = time.Now().Truncate(time.Second), 30*time.Second, true
		requested := time.Now()
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
		expect(t, d, "ask runtime-1 []")
		run := timeline.ContainerRun{Name: "app", StartedAt: requested.Add(-time.Minute)}
		answer := func(o timeline.RuntimeSeen) {
			o.UID, o.AskedAt, o.ArrivedAt = "uid-1", time.Now(), time.Now()
			observe(o)
		}
		answer(timeline.RuntimeSeen{Sandboxes: []timeline.Sandbox{{ID: "s", Ready: true}},
			Containers: []timeline.ContainerRun{run}})
		time.Sleep(5*time.Second + time.Millisecond)
		synctest.Wait()
		if asked := d.take(); len(asked) < 4 || len(asked) > 6 {
			t.Errorf("in 5 s asked %q", asked)
		}
		present, err := r.Present(t.Context())
		if err != nil || len(present) != 1 || present[0].Termination == nil || !present[0].Termination.GoneAt.IsZero() {
			t.Fatalf("while it ends: %+v, %v", present, err)
		}
		if len(d.settled) != 1 || d.settled[0].Termination != nil {
			t.Errorf("settled %+v", d.settled)
		}
		run.FinishedAt, run.ExitCode = time.Now(), 143
		answer(timeline.RuntimeSeen{Sandboxes: []timeline.Sandbox{{ID: "s"}}, Containers: []timeline.ContainerRun{run}})
		d.take()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		expect(t, d) // all is known
		observe(timeline.PodGone{UID: "uid-1", ArrivedAt: time.Now(), Live: true})
		expect(t, d, "terminated pod")
		if len(ended) != 1 || !terminated(ended[0]) {
			t.Fatalf("ended %+v", ended)
		}
		end := ended[0].Termination
		if s := end.Stops; len(s) != 1 || s[0].How != timeline.HowSignalled || !s[0].StoppedAt.Equal(run.FinishedAt) {
			t.Errorf("stops %+v", s)
		}
		if len(d.gone) != 1 || !terminated(d.gone[0]) {
			t.Errorf("the history got %+v", d.gone)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		expect(t, d)
	})
}

// A pod that is deleted while it starts has a start-up that ends so, and an end.
func TestTerminationOfStartingPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		_, observe, stop := startWith(t, d, timeline.Scope{}, func(c *Config) {
			c.Follow.Terminations = true
			c.also(Terminated, func(tl timeline.Timeline) { d.note("terminated %s %s", tl.Name, tl.State) })
		})
		defer stop()
		pod := object()
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
		pod.DeletedAt, pod.DeletionGrace = time.Now().Truncate(time.Second), 30*time.Second
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
		observe(timeline.PodGone{UID: "uid-1", ArrivedAt: time.Now(), Live: true})
		calls := d.take()
		i, j := slices.Index(calls, "settled pod deleted"), slices.Index(calls, "terminated pod deleted")
		if i < 0 || j < i {
			t.Errorf("%q", calls)
		}
		if len(d.settled) != 1 || d.settled[0].Termination != nil {
			t.Errorf("settled %+v", d.settled)
		}
	})
}

// What the object says anew is a reason to ask at once, what it says again is none; and nobody is
// asked, nor does a clock tick, once all pods are gone.
func TestTerminationRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		r, observe, stop := startWith(t, d, timeline.Scope{Runtime: true}, func(c *Config) {
			c.Follow.Terminations = true
		})
		pod := longReady(d, observe)
		pod.DeletedAt, pod.DeletionGrace = time.Now().Truncate(time.Second), 30*time.Second
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
		expect(t, d, "ask runtime-1 []")
		time.Sleep(100 * time.Millisecond)
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
		expect(t, d)
		pod.DeletionObserved = true
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
		expect(t, d, "ask runtime-1 []")
		observe(timeline.PodGone{UID: "uid-1", ArrivedAt: time.Now(), Live: true})
		expect(t, d)
		stop()
		if r.terminations != 0 || len(r.pods) != 0 {
			t.Errorf("%d ends are followed of %d pods", r.terminations, len(r.pods))
		}
	})
}

// While its start-up is in flight, what is seen of a pod is kept as of that, and not twice.
func TestTerminationOfStartingPodIsSavedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &keeper{}
		_, observe, stop := startWith(t, &desk{}, timeline.Scope{Runtime: true}, func(c *Config) {
			c.Follow.Terminations, c.Keeper = true, k
		})
		defer stop()
		pod := object()
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
		pod.DeletedAt, pod.DeletionGrace = time.Now().Truncate(time.Second), 30*time.Second
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
		if k.starts != 2 || k.ends != 0 {
			t.Errorf("kept %d times of the start-up, %d times of the end", k.starts, k.ends)
		}
	})
}

// Unless ends are to be followed, a deletion makes nobody ask anything.
func TestTerminationsAreNotFollowedByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		r, observe, stop := start(t, d, timeline.Scope{Runtime: true})
		defer stop()
		pod := longReady(d, observe)
		pod.DeletedAt, pod.DeletionGrace = time.Now().Truncate(time.Second), 30*time.Second
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
		time.Sleep(time.Minute)
		synctest.Wait()
		expect(t, d)
		if present, err := r.Present(t.Context()); err != nil || len(present) != 1 || present[0].Termination != nil {
			t.Errorf("%+v, %v", present, err)
		}
	})
}

// An agent that ends in the midst of a pod's end leaves what it saw to the next, which tells the
// end as if it had been there.
func TestTerminationAcrossRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &keeper{}
		var ended []timeline.Timeline
		follow := func(c *Config) {
			c.Follow.Terminations, c.Keeper = true, k
			c.also(Terminated, func(tl timeline.Timeline) { ended = append(ended, tl) })
		}
		d := &desk{}
		_, observe, stop := startWith(t, d, timeline.Scope{Runtime: true}, follow)
		pod := longReady(d, observe)
		if len(k.keptEnds) > 0 {
			t.Errorf("of a pod that nobody deletes %v is kept", k.keptEnds)
		}
		requested := time.Now()
		pod.DeletedAt, pod.DeletionGrace = requested.Truncate(time.Second), 30*time.Second
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
		time.Sleep(20 * time.Millisecond)
		pod.DeletionObserved = true
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
		run := timeline.ContainerRun{Name: "app", StartedAt: requested.Add(-time.Minute)}
		answer := timeline.RuntimeSeen{UID: "uid-1", AskedAt: time.Now(), ArrivedAt: time.Now(),
			Sandboxes: []timeline.Sandbox{{ID: "s", Ready: true}}, Containers: []timeline.ContainerRun{run}}
		for range 10 { // that it runs it will say again
			answer.AskedAt, answer.ArrivedAt = time.Now(), time.Now()
			observe(answer)
			time.Sleep(time.Second)
		}
		run.FinishedAt = time.Now()
		answer.Containers, answer.AskedAt, answer.ArrivedAt = []timeline.ContainerRun{run}, time.Now(), time.Now()
		observe(answer)
		stop()
		if len(k.keptEnds) != 3 || len(ended) > 0 {
			t.Fatalf("%d observations are kept, %v report", len(k.keptEnds), ended)
		}

		time.Sleep(2 * time.Second)
		_, observe, stop = startWith(t, &desk{}, timeline.Scope{Runtime: true, Since: time.Now()}, func(c *Config) {
			follow(c)
			c.Restored = Restored{Reported: []string{"uid-1"}, Ends: k.keptEnds}
		})
		defer stop()
		synctest.Wait()
		if len(k.keptEnds) != 3 {
			t.Errorf("what was kept is kept %d times more", len(k.keptEnds)-3)
		}
		observe(timeline.PodGone{UID: "uid-1", ArrivedAt: time.Now()}) // as the first list tells
		if len(ended) != 1 {
			t.Fatalf("report %d ends", len(ended))
		}
		end := ended[0].Termination
		if off := end.RequestedAt.Sub(requested).Abs(); end.Listed || off > time.Millisecond {
			t.Errorf("asked for at %s, off by %s, listed %t", end.RequestedAt, off, end.Listed)
		}
		if s := end.Stops; len(s) != 1 || !s[0].StoppedAt.Equal(run.FinishedAt) || s[0].Used < 9*time.Second {
			t.Errorf("stops %+v", s)
		}
		if end.TotalError < time.Second { // it went while nobody looked
			t.Errorf("gone at %s, total ±%s", end.GoneAt, end.TotalError)
		}
	})
}

func terminated(t timeline.Timeline) bool {
	return t.Termination != nil && !t.Termination.GoneAt.IsZero()
}
