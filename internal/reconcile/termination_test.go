package reconcile

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// longReady returns a pod that became ready so long ago that the reconciler requests no more evidence about it.
func longReady(d *desk, observe func(timeline.Observation)) timeline.Pod {
	pod := ready(object())
	pod.Containers[0].PullPolicy = timeline.PullNever
	observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
	time.Sleep(5 * time.Minute)
	synctest.Wait()
	d.take()
	return pod
}

// A user deletes a ready pod. The reconciler queries the runtime during the termination, and the API shows the
// termination. When the pod is gone, the reconciler reports the termination once.
func TestTerminationOfReadyPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended []timeline.Timeline
		d := &desk{}
		r, observe, stop := startWith(t, d, timeline.Scope{Runtime: true}, func(c *Config) {
			c.Optional.Terminations = true
			c.onReport(Terminated, func(tl timeline.Timeline) {
				d.note("terminated %s", tl.Name)
				ended = append(ended, tl)
			})
		})
		defer stop()
		pod := longReady(d, observe)

		pod.DeletedAt, pod.DeletionGrace, pod.DeletionObserved = time.Now().Truncate(time.Second), 30*time.Second, true
		requested := time.Now()
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
		expect(t, d, "query runtime-1 []")
		run := timeline.ContainerRun{Name: "app", StartedAt: requested.Add(-time.Minute)}
		response := func(o timeline.RuntimeSeen) {
			o.UID, o.QueriedAt, o.ArrivedAt = "uid-1", time.Now(), time.Now()
			observe(o)
		}
		response(timeline.RuntimeSeen{Sandboxes: []timeline.Sandbox{{ID: "s", Ready: true}},
			Containers: []timeline.ContainerRun{run}})
		time.Sleep(5*time.Second + time.Millisecond)
		synctest.Wait()
		if queries := d.take(); len(queries) < 4 || len(queries) > 6 {
			t.Errorf("in 5 s sent the queries %q", queries)
		}
		present, err := r.Present(t.Context())
		if err != nil || len(present) != 1 || present[0].Termination == nil || !present[0].Termination.GoneAt.IsZero() {
			t.Fatalf("during the termination: %+v, %v", present, err)
		}
		if len(d.settled) != 1 || d.settled[0].Termination != nil {
			t.Errorf("settled %+v", d.settled)
		}
		run.FinishedAt, run.ExitCode = time.Now(), 143
		response(timeline.RuntimeSeen{Sandboxes: []timeline.Sandbox{{ID: "s"}},
			Containers: []timeline.ContainerRun{run}})
		d.take()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		expect(t, d) // everything is known
		observe(timeline.PodGone{UID: "uid-1", ArrivedAt: time.Now(), Live: true})
		expect(t, d, "terminated pod")
		if len(ended) != 1 || !terminated(ended[0]) {
			t.Fatalf("ended %+v", ended)
		}
		end := ended[0].Termination
		if s := end.Stops; len(s) != 1 || s[0].How != timeline.StopSignalled || !s[0].StoppedAt.Equal(run.FinishedAt) {
			t.Errorf("stops %+v", s)
		}
		if len(d.gone) != 1 || !terminated(d.gone[0]) {
			t.Errorf("the history received %+v", d.gone)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		expect(t, d)
	})
}

// If a user deletes a pod during its start-up, the start-up ends with the deletion, and the pod also has a
// termination.
func TestTerminationOfStartingPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		_, observe, stop := startWith(t, d, timeline.Scope{}, func(c *Config) {
			c.Optional.Terminations = true
			c.onReport(Terminated, func(tl timeline.Timeline) { d.note("terminated %s %s", tl.Name, tl.State) })
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

// A change of the object causes a request at once, and an unchanged object causes no request. When all pods are
// gone, the reconciler sends no requests and runs no timer.
func TestTerminationRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		r, observe, stop := startWith(t, d, timeline.Scope{Runtime: true}, func(c *Config) {
			c.Optional.Terminations = true
		})
		pod := longReady(d, observe)
		pod.DeletedAt, pod.DeletionGrace = time.Now().Truncate(time.Second), 30*time.Second
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
		expect(t, d, "query runtime-1 []")
		time.Sleep(100 * time.Millisecond)
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
		expect(t, d)
		pod.DeletionObserved = true
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
		expect(t, d, "query runtime-1 []")
		observe(timeline.PodGone{UID: "uid-1", ArrivedAt: time.Now(), Live: true})
		expect(t, d)
		stop()
		if r.terminations != 0 || len(r.pods) != 0 {
			t.Errorf("following %d terminations of %d pods", r.terminations, len(r.pods))
		}
	})
}

// During a start-up, the reconciler saves observations only for the start-up, and not again for the termination.
func TestTerminationOfStartingPodIsSavedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &fakeSaver{}
		_, observe, stop := startWith(t, &desk{}, timeline.Scope{Runtime: true}, func(c *Config) {
			c.Optional.Terminations, c.Saver = true, k
		})
		defer stop()
		pod := object()
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
		pod.DeletedAt, pod.DeletionGrace = time.Now().Truncate(time.Second), 30*time.Second
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
		if k.starts != 2 || k.terminations != 0 {
			t.Errorf("saved %d observations of the start-up and %d of the termination", k.starts, k.terminations)
		}
	})
}

// Without Optional.Terminations, a deletion causes no request.
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

// An agent that stops during a termination saves the observations of the termination. The next agent reports the
// termination as if this agent had seen the whole termination.
func TestTerminationAcrossRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &fakeSaver{}
		var ended []timeline.Timeline
		follow := func(c *Config) {
			c.Optional.Terminations, c.Saver = true, k
			c.onReport(Terminated, func(tl timeline.Timeline) { ended = append(ended, tl) })
		}
		d := &desk{}
		_, observe, stop := startWith(t, d, timeline.Scope{Runtime: true}, follow)
		pod := longReady(d, observe)
		if len(k.keptTerminations) > 0 {
			t.Errorf("saved %v of a pod that was not deleted", k.keptTerminations)
		}
		requested := time.Now()
		pod.DeletedAt, pod.DeletionGrace = requested.Truncate(time.Second), 30*time.Second
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
		time.Sleep(20 * time.Millisecond)
		pod.DeletionObserved = true
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
		run := timeline.ContainerRun{Name: "app", StartedAt: requested.Add(-time.Minute)}
		response := timeline.RuntimeSeen{UID: "uid-1", QueriedAt: time.Now(), ArrivedAt: time.Now(),
			Sandboxes: []timeline.Sandbox{{ID: "s", Ready: true}}, Containers: []timeline.ContainerRun{run}}
		for range 10 { // the runtime repeats its response: the pod runs
			response.QueriedAt, response.ArrivedAt = time.Now(), time.Now()
			observe(response)
			time.Sleep(time.Second)
		}
		run.FinishedAt = time.Now()
		response.Containers = []timeline.ContainerRun{run}
		response.QueriedAt, response.ArrivedAt = time.Now(), time.Now()
		observe(response)
		stop()
		if len(k.keptTerminations) != 3 || len(ended) > 0 {
			t.Fatalf("saved %d observations, reported %v", len(k.keptTerminations), ended)
		}

		time.Sleep(2 * time.Second)
		_, observe, stop = startWith(t, &desk{}, timeline.Scope{Runtime: true, Since: time.Now()}, func(c *Config) {
			follow(c)
			c.Restored = Restored{Reported: []string{"uid-1"}, Terminations: k.keptTerminations}
		})
		defer stop()
		synctest.Wait()
		if len(k.keptTerminations) != 3 {
			t.Errorf("saved again %d times", len(k.keptTerminations)-3)
		}
		observe(timeline.PodGone{UID: "uid-1", ArrivedAt: time.Now()}) // from the next agent's first list
		if len(ended) != 1 {
			t.Fatalf("report %d ends", len(ended))
		}
		end := ended[0].Termination
		if off := end.RequestedAt.Sub(requested).Abs(); end.Listed || off > time.Millisecond {
			t.Errorf("requested at %s, off by %s, listed %t", end.RequestedAt, off, end.Listed)
		}
		if s := end.Stops; len(s) != 1 || !s[0].StoppedAt.Equal(run.FinishedAt) || s[0].Used < 9*time.Second {
			t.Errorf("stops %+v", s)
		}
		if end.TotalError < time.Second { // the pod disappeared while no agent ran
			t.Errorf("gone at %s, total ±%s", end.GoneAt, end.TotalError)
		}
	})
}

func terminated(t timeline.Timeline) bool {
	return t.Termination != nil && !t.Termination.GoneAt.IsZero()
}
