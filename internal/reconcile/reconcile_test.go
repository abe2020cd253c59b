package reconcile

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestColdStartFromBindingToRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		r, observe, stop := start(t, d, timeline.Scope{Runtime: true, Events: true})
		pod := object()
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
		expect(t, d, "query runtime-1 [cold]")

		requested := time.Now()
		observe(timeline.RuntimeSeen{UID: "uid-1", QueriedAt: requested, ArrivedAt: requested,
			Images: []timeline.Image{{Ref: "cold"}}})
		expect(t, d, "watch runtime-1")

		time.Sleep(3 * time.Second)
		observe(timeline.EventSeen{UID: "uid-1", ArrivedAt: time.Now(), Live: true, Container: "app", Reason: "Pulled",
			Count:   1,
			Message: `Successfully pulled image "cold" in 1s (2s including waiting). Image size: 5 bytes.`,
			NamedAt: time.Now(), FirstAt: time.Now().Truncate(time.Second), LastAt: time.Now().Truncate(time.Second)})
		if calls := d.take(); !slices.Contains(calls, "unwatch uid-1") {
			t.Errorf("the Event watch is still open: %q", calls)
		}
		observe(timeline.EventSeen{UID: "uid-1", ArrivedAt: time.Now(), Reason: "Scheduled", Count: 1})
		observe(timeline.EventSeen{UID: "nobody", ArrivedAt: time.Now(), Reason: "Pulled", Count: 1})
		if used := r.EventsUsed(); used != 1 {
			t.Errorf("%d Events were used, want the one about the pull", used)
		}

		started := time.Now()
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: ready(pod)})
		expect(t, d, "query runtime-1 [cold]") // the query shows whether the pull downloaded the image
		time.Sleep(10 * time.Millisecond)
		observe(timeline.RuntimeSeen{UID: "uid-1", QueriedAt: time.Now(), ArrivedAt: time.Now(),
			Containers: []timeline.ContainerRun{
				{Name: "app", CreatedAt: started, StartedAt: started}},
			Images: []timeline.Image{{Ref: "cold", Present: true}}})
		expect(t, d, "settled pod ready")

		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: ready(pod)})
		observe(timeline.PodGone{UID: "uid-1", ArrivedAt: time.Now(), Live: true})
		expect(t, d) // the reconciler reports the start-up only once
		all := d.known(t, r)
		if len(all) != 1 || len(d.gone) != 1 || all[0].State != timeline.StateReady {
			t.Errorf("timelines %+v", all)
		}
		stop()
		if _, err := r.Present(t.Context()); err == nil {
			t.Error("a stopped reconciler responded")
		}
	})
}

func TestSilentRuntimeDelaysRecordOnlyByGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		_, observe, stop := start(t, d, timeline.Scope{Runtime: true})
		defer stop()
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: object()})
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: ready(object())})
		time.Sleep(10 * time.Second)
		synctest.Wait()
		calls := d.take()
		if calls[len(calls)-1] != "settled pod ready" {
			t.Errorf("calls %q", calls)
		}
		if len(calls) > 8 {
			t.Errorf("a silent runtime received %d requests during its grace", len(calls)-1)
		}
	})
}

// TestSilentRuntimeStillWatchesEvents tests a pod for which only Events show whether its image was pulled.
func TestSilentRuntimeStillWatchesEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		_, observe, stop := start(t, d, timeline.Scope{Runtime: true, Events: true})
		defer stop()
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: object()})
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: ready(object())})
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if calls := d.take(); calls[len(calls)-1] != "watch runtime-1" {
			t.Errorf("calls %q", calls)
		}
		time.Sleep(6 * time.Second) // the wait for late Events
		synctest.Wait()
		expect(t, d, "unwatch uid-1", "settled pod ready")
	})
}

// TestForgedRequestIsCheckedSoon forges pull requests for a pod without a sandbox. Until the runtime refutes these
// requests, other pods' timelines might lack the name of an image.
func TestForgedRequestIsCheckedSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		_, observe, stop := start(t, d, timeline.Scope{Runtime: true, Events: true})
		defer stop()
		response := func() {
			observe(timeline.RuntimeSeen{UID: "uid-1", QueriedAt: time.Now(), Images: []timeline.Image{{Ref: "cold"}}})
		}
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: object()})
		response()
		for range 8 {
			time.Sleep(20 * time.Second)
			synctest.Wait()
			d.take()
			now := time.Now()
			observe(timeline.EventSeen{UID: "uid-1", Container: "app", Reason: "Pulling",
				Message: `Pulling image "cold"`, NamedAt: now.Add(-time.Millisecond), FirstAt: now, LastAt: now,
				ArrivedAt: now, Live: true, Count: 1})
			time.Sleep(2*time.Second + tick) // the first response can be as old as the Event
			synctest.Wait()
			expect(t, d, "query runtime-1 []", "query runtime-1 []")
			response()
		}
		time.Sleep(10 * time.Second) // time for the runtime to refute the last forged request
		synctest.Wait()
		expect(t, d)
	})
}

func TestPodsReadyBeforeAgentAreShownButNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		r, observe, stop := start(t, d, timeline.Scope{Runtime: true, Events: true})
		defer stop()
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Pod: ready(object())})
		expect(t, d, "query runtime-1 []") // one query, for the containers that the runtime still has
		time.Sleep(5 * time.Second)
		synctest.Wait()
		expect(t, d, "query runtime-1 []") // a second query, because no response arrived
		time.Sleep(time.Minute)
		synctest.Wait()
		expect(t, d)
		all := d.known(t, r)
		if len(all) != 1 || !all[0].Reconstructed {
			t.Errorf("timelines %+v", all)
		}
	})
}

func TestRecreatedMirrorIsCountedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		r, observe, stop := start(t, d, timeline.Scope{Since: time.Now()})
		defer stop()
		mirror := object()
		mirror.ReadAt = time.Now().Add(time.Millisecond)
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: mirror})
		time.Sleep(2 * time.Second)
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: ready(mirror)})
		expect(t, d, "settled pod ready")
		observe(timeline.PodGone{UID: mirror.UID, ArrivedAt: time.Now(), Live: true})

		again := mirror
		again.UID = "uid-2"
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: again})
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: ready(again)})
		expect(t, d)
		all := d.known(t, r)
		if len(all) != 2 || all[0].ID() != all[1].ID() || all[0].Reconstructed == all[1].Reconstructed {
			t.Errorf("timelines %+v", all)
		}

		changed := again
		changed.UID, changed.RuntimeUID, changed.ReadAt = "uid-3", "runtime-3", time.Now()
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: ready(changed)})
		expect(t, d, "settled pod ready") // the start-up with the new manifest
	})
}

func TestNameReusedWithNewUID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		r, observe, stop := start(t, d, timeline.Scope{})
		defer stop()
		first, second := object(), object()
		second.UID, second.RuntimeUID = "uid-2", "runtime-2"
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: first})
		// The new pod arrives before the reconciler learns of the deletion of the first pod.
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: second})
		observe(timeline.PodGone{UID: first.UID, ArrivedAt: time.Now(), Live: true})
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: ready(second)})
		expect(t, d, "settled pod deleted", "settled pod ready")
		all := d.known(t, r)
		if len(all) != 2 || all[0].ID() == all[1].ID() {
			t.Errorf("timelines %+v", all)
		}
	})
}

func TestDeletedWhileStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		_, observe, stop := start(t, d, timeline.Scope{Runtime: true, Events: true})
		defer stop()
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: object()})
		observe(timeline.PodGone{UID: "uid-1", ArrivedAt: time.Now(), Live: true})
		observe(timeline.RuntimeSeen{UID: "uid-1", ArrivedAt: time.Now()}) // a late response
		expect(t, d, "query runtime-1 [cold]", "settled pod deleted")
	})
}

func TestDeletedMirrorsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		r, observe, stop := start(t, d, timeline.Scope{})
		defer stop()
		for i := range 3 * maxGone {
			pod := object()
			pod.UID = fmt.Sprintf("uid-%d", i)
			pod.ReadAt = time.Now().Add(time.Duration(i))
			observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
			observe(timeline.PodGone{UID: pod.UID, ArrivedAt: time.Now(), Live: true})
		}
		if all := d.known(t, r); len(all) != 3*maxGone || len(r.mirrors) != maxGone {
			t.Errorf("handed over %d timelines, kept %d mirrors", len(all), len(r.mirrors))
		}
	})
}

// The method Some returns a changed timeline in these cases: a pod is new, its start-up makes progress, its
// start-up ends, or a label changes after the end.
func TestSomeReturnsChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		r, observe, stop := start(t, d, timeline.Scope{})
		defer stop()
		changes := func() (n int) { n, d.changed = len(d.changed), nil; return n }
		pod := object()
		pod.Labels = "app=web"
		see := func() { observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod}) }
		see()
		if changes() == 0 {
			t.Error("a new pod is not a change")
		}
		see()
		if n := changes(); n != 0 {
			t.Errorf("got %d changes without news", n)
		}
		pod = ready(pod)
		see()
		if changes() == 0 {
			t.Error("the end is not a change")
		}
		see()
		if n := changes(); n != 0 {
			t.Errorf("got %d changes after the end", n)
		}
		pod.Labels = "app=web,canary=true"
		see()
		if n := changes(); n != 1 {
			t.Errorf("got %d changes for a label", n)
		}
		some, err := r.Some(t.Context(), []string{"uid-1", "uid-none"})
		if err != nil || len(some) != 1 || some[0].Labels != "app=web,canary=true" ||
			some[0].State != timeline.StateReady {
			t.Errorf("%+v, %v", some, err)
		}
	})
}

// TestStopSettlesQueuedStartUps checks that observations in the inbox still settle start-ups after the stop, even
// if the start-ups wait for a runtime that never responds.
func TestStopSettlesQueuedStartUps(t *testing.T) {
	d := &desk{}
	r := New(Config{Now: time.Now, Scope: timeline.Scope{Runtime: true, Events: true}, Logger: zap.NewNop(),
		Sources: d, Report: d.report})
	for i := range 100 {
		pod := ready(object())
		pod.UID = fmt.Sprintf("uid-%d", i)
		r.Observe(t.Context(), timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if len(d.settled) != 100 {
		t.Errorf("%d of 100 settled", len(d.settled))
	}
}
