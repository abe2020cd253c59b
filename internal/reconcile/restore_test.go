package reconcile

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// fakeSaver records the observations that the reconciler wants to save.
type fakeSaver struct {
	kept []timeline.Observation // new observations
	gone []string
	lost bool // saving failed

	starts, terminations int // observations of start-ups and of terminations
	keptTerminations     []timeline.Observation
	eventsUntil          *time.Time // nil if the test ignores it
}

// Observe implements Saver.
func (s *fakeSaver) Observe(o timeline.Observation, news bool) {
	if s.starts++; news {
		s.kept = append(s.kept, o)
	}
}

// Saved implements Saver.
func (s *fakeSaver) Saved(string) bool { return !s.lost }

// Gone implements Saver.
func (s *fakeSaver) Gone(uid string) { s.gone = append(s.gone, uid) }

// ObserveTermination implements Saver.
func (s *fakeSaver) ObserveTermination(o timeline.Observation, news bool) {
	if s.terminations++; news {
		s.keptTerminations = append(s.keptTerminations, o)
	}
}

// SetEventsUntil implements Saver.
func (s *fakeSaver) SetEventsUntil(until time.Time) {
	if s.eventsUntil != nil {
		*s.eventsUntil = until
	}
}

// startRestored runs a reconciler with the state of a previous agent, in the same way as start.
func startRestored(
	t *testing.T, d *desk, k *fakeSaver, restored Restored,
) (*Reconciler, func(timeline.Observation), func()) {
	t.Helper()
	return startWith(t, d, timeline.Scope{Runtime: true, Events: true, Since: time.Now()}, func(c *Config) {
		c.Restored, c.Saver = restored, k
	})
}

func TestRuntimeSilenceSurvivesRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &fakeSaver{}
		_, observe, kill := startRestored(t, &desk{}, k, Restored{})
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: object()})
		observe(timeline.RuntimeSilent{ArrivedAt: time.Now(), From: time.Now().Add(-time.Second), Until: time.Now()})
		kill()
		if len(k.kept) != 2 {
			t.Fatalf("kept %+v, want the pod and the silence", k.kept)
		}
		slices.Reverse(k.kept) // the order in the file
		r, _, stop := startRestored(t, &desk{}, &fakeSaver{}, Restored{InFlight: k.kept})
		stop()
		if got := r.silences.Silences(); len(got) != 1 || got[0] != k.kept[0] {
			t.Errorf("the next agent restored the silences %+v", got)
		}
	})
}

func TestColdStartAcrossRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, k := &desk{}, &fakeSaver{}
		_, observe, kill := startRestored(t, d, k, Restored{})
		object := object()
		absent := timeline.RuntimeSeen{UID: "uid-1", QueriedAt: time.Now(), ArrivedAt: time.Now(),
			Images: []timeline.Image{{Ref: "cold"}}}
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: object})
		observe(absent)
		observe(absent)
		observe(timeline.EventsWatched{UID: "uid-1", ArrivedAt: time.Now(), OpenedAt: time.Now()})
		kill()
		if len(k.kept) != 3 {
			t.Fatalf("kept %+v, want the pod, one response, and that Events were watched", k.kept)
		}

		// While no agent runs, the image arrives and the pod becomes ready.
		time.Sleep(time.Minute)
		d = &desk{}
		_, observe, stop := startRestored(t, d, &fakeSaver{}, Restored{InFlight: k.kept[:2]})
		defer stop()
		synctest.Wait()
		expect(t, d, "watch runtime-1") // the saved state shows that the image was absent
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Pod: ready(object)})
		expect(t, d, "query runtime-1 [cold]")
		observe(timeline.RuntimeSeen{UID: "uid-1", QueriedAt: time.Now().Add(1), ArrivedAt: time.Now(),
			Sandboxes: []timeline.Sandbox{{Ready: true, RunningAt: time.Now().Add(-time.Second)}},
			Containers: []timeline.ContainerRun{
				{Name: "app", CreatedAt: time.Now(), StartedAt: time.Now()}},
			Images: []timeline.Image{{Ref: "cold", Present: true, FirstPulledAt: time.Now(),
				PulledAt: time.Now()}}})
		time.Sleep(eventsPatience)
		synctest.Wait()
		calls := d.take()
		if !slices.Contains(calls, "settled pod ready") || d.settled[0].Pulls[0].Outcome != "downloaded" {
			t.Errorf("calls %q, settled %+v", calls, d.settled)
		}
	})
}

// event returns an Event that the kubelet creates at the current time.
func event(uid, reason, message string) timeline.EventSeen {
	now := time.Now()
	return timeline.EventSeen{UID: uid, Container: "app", Reason: reason, Message: message, NamedAt: now,
		FirstAt: now.Truncate(time.Second),
		LastAt:  now.Truncate(time.Second), Count: 1, Live: true, ArrivedAt: now}
}

// TestPullsAreRestoredInOrder restores a failed pull whose start depends on the previous pull. The pod of the
// previous pull can come later in the file.
func TestPullsAreRestoredInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := map[string][]timeline.Observation{}
		uids := []string{"fails", "pulled", "waits"}
		for _, uid := range uids {
			pod := object()
			pod.UID, pod.RuntimeUID, pod.Name, pod.Containers[0].Image = uid, uid, uid, uid
			kept[uid] = []timeline.Observation{timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod}}
		}
		time.Sleep(time.Second)
		for _, uid := range uids {
			kept[uid] = append(kept[uid], event(uid, "Pulling", fmt.Sprintf("Pulling image %q", uid)))
		}
		time.Sleep(20 * time.Second)
		kept["pulled"] = append(kept["pulled"],
			event("pulled", "Pulled",
				`Successfully pulled image "pulled" in 20s (20s including waiting). Image size: 5 bytes.`))
		time.Sleep(10 * time.Second)
		kept["fails"] = append(kept["fails"], event("fails", "Failed", `Failed to pull image "fails": no`))
		time.Sleep(2 * time.Second)
		kept["waits"] = append(kept["waits"],
			event("waits", "Pulled",
				`Successfully pulled image "waits" in 2s (32s including waiting). Image size: 5 bytes.`))

		r, _, stop := startRestored(t, &desk{}, &fakeSaver{},
			Restored{InFlight: slices.Concat(kept["fails"], kept["pulled"], kept["waits"])})
		defer stop()
		report, err := r.Some(t.Context(), []string{"waits"})
		if err != nil || len(report) != 1 || len(report[0].Pulls) != 1 {
			t.Fatalf("%+v, %v", report, err)
		}
		b := report[0].Pulls[0].BlockedBy
		if b == nil || b.Pod != "pulled" || b.Waited.Round(time.Second) != 20*time.Second {
			t.Errorf("the pull waited for %+v", b)
		}
	})
}

// TestPullsOfOtherPodsAcrossRestart restores a pull that only the previous agent observed. Because of this pull,
// another pull waits or finds its image on the node.
func TestPullsOfOtherPodsAcrossRestart(t *testing.T) {
	for image, want := range map[string]imagepull.Outcome{"small": imagepull.OutcomeDownloaded,
		"large": imagepull.OutcomeJoined} {
		synctest.Test(t, func(t *testing.T) {
			k := &fakeSaver{}
			_, observe, kill := startRestored(t, &desk{}, k, Restored{})
			images := map[string]string{"first": "large", "second": image}
			for _, uid := range []string{"first", "second"} {
				pod := object()
				pod.UID, pod.RuntimeUID, pod.Name, pod.Containers[0].Image = uid, uid, uid, images[uid]
				observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
				observe(timeline.RuntimeSeen{UID: uid, QueriedAt: time.Now(), ArrivedAt: time.Now(),
					Images: []timeline.Image{{Ref: images[uid]}}})
				observe(timeline.RuntimeSeen{UID: uid, QueriedAt: time.Now(), ArrivedAt: time.Now(),
					Sandboxes: []timeline.Sandbox{{ID: uid, Ready: true, CreatedAt: time.Now()}}})
			}
			time.Sleep(time.Second)
			for _, uid := range []string{"first", "second"} {
				observe(event(uid, "Pulling", fmt.Sprintf("Pulling image %q", images[uid])))
			}
			time.Sleep(20 * time.Second)
			observe(event("first", "Pulled",
				`Successfully pulled image "large" in 20s (20s including waiting). Image size: 5 bytes.`))
			kill()

			r, observe, stop := startRestored(t, &desk{}, &fakeSaver{}, Restored{InFlight: k.kept})
			defer stop()
			time.Sleep(2 * time.Second)
			observe(event("second", "Pulled",
				fmt.Sprintf("Successfully pulled image %q in 2s (22s including waiting). Image size: 5 bytes.", image)))
			report, err := r.Some(t.Context(), []string{"second"})
			if err != nil || len(report) != 1 || len(report[0].Pulls) != 1 {
				t.Fatalf("%+v, %v", report, err)
			}
			pull := report[0].Pulls[0]
			b := pull.BlockedBy
			if b == nil || b.Pod != "first" || b.Waited.Round(time.Second) != 20*time.Second || pull.Outcome != want {
				t.Errorf("%s is %s, want %s; waited for %+v", image, pull.Outcome, want, b)
			}
		})
	}
}

// eventsPatience is longer than the time that pkg/timeline waits for missing Events.
const eventsPatience = 20 * time.Second

// TestUnreportedStartUpIsReportedAfterRestart restores a start-up that was over when the previous agent stopped.
// The next agent requests missing evidence once more, and reports the start-up whatever its age.
func TestUnreportedStartUpIsReportedAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pod := ready(object())
		inFlight := []timeline.Observation{timeline.PodSeen{ArrivedAt: time.Now(), Pod: pod}}
		time.Sleep(3 * time.Hour)
		d := &desk{}
		_, observe, stop := startRestored(t, d, &fakeSaver{}, Restored{InFlight: inFlight})
		defer stop()
		synctest.Wait()
		expect(t, d, "query runtime-1 [cold]")
		started := pod.CreatedAt
		observe(timeline.RuntimeSeen{UID: "uid-1", QueriedAt: time.Now(), ArrivedAt: time.Now(),
			Containers: []timeline.ContainerRun{
				{Name: "app", CreatedAt: started, StartedAt: started}},
			Images: []timeline.Image{{Ref: "cold", Present: true, PulledAt: started.Add(-time.Hour)}}})
		time.Sleep(eventsPatience)
		synctest.Wait()
		if len(d.settled) != 1 || d.settled[0].Reconstructed {
			t.Errorf("settled %+v", d.settled)
		}
	})
}

func TestStopBeforeRuntimeResponds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &fakeSaver{}
		first := &desk{}
		_, observe, stop := startRestored(t, first, k, Restored{})
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: object()})
		time.Sleep(2 * time.Second)
		pod := ready(object())
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
		stop()
		if len(first.settled) > 0 {
			t.Errorf("reported without the runtime's response: %+v", first.settled)
		}
		second := &desk{}
		_, observe, stop = startRestored(t, second, k, Restored{InFlight: k.kept})
		synctest.Wait()
		ran := time.Now().Add(-time.Millisecond)
		observe(timeline.RuntimeSeen{UID: "uid-1", QueriedAt: time.Now(), ArrivedAt: time.Now(),
			Containers: []timeline.ContainerRun{
				{Name: "app", CreatedAt: ran, StartedAt: ran}}, Images: []timeline.Image{{Ref: "cold", Present: true}}})
		stop()
		if len(second.settled) != 1 ||
			!strings.Contains(fmt.Sprint(second.settled[0].Phases), string(timeline.PhaseContainerStart)) {
			t.Errorf("reported by the next agent: %+v", second.settled)
		}
	})
}

// If the agent cannot save its state, the agent reports ended start-ups when it stops, with the evidence so far.
func TestStopBeforeRuntimeRespondsWithoutState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		_, observe, stop := startRestored(t, d, &fakeSaver{lost: true}, Restored{})
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: object()})
		time.Sleep(2 * time.Second)
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: ready(object())})
		stop()
		if len(d.settled) != 1 || d.settled[0].State != timeline.StateReady {
			t.Errorf("settled %+v", d.settled)
		}
	})
}

func TestReportedPodsAreShownButNotReportedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, k := &desk{}, &fakeSaver{}
		r, observe, stop := startRestored(t, d, k, Restored{Reported: []string{"uid-1", "uid-2", "left"}})
		defer stop()
		observe(timeline.PodGone{UID: "left", ArrivedAt: time.Now()})
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Pod: ready(object())})
		deleting := object() // deleted during its start-up, so the object does not show that the start-up was over
		deleting.UID, deleting.DeletedAt = "uid-2", time.Now().Truncate(time.Second)
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Pod: deleting})
		time.Sleep(time.Minute)
		synctest.Wait()
		all := d.known(t, r)
		if len(d.settled) > 0 || len(all) != 2 || !all[0].Reconstructed || !all[1].Reconstructed {
			t.Errorf("reported again: %+v, shown: %+v", d.settled, all)
		}
		observe(timeline.PodGone{UID: "uid-2", ArrivedAt: time.Now()})
		if len(k.kept) > 0 || !slices.Equal(k.gone, []string{"left", "uid-2"}) {
			t.Errorf("kept %+v, gone %v", k.kept, k.gone)
		}
	})
}

func TestUnreportedDeletedPodIsReportedAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, k := &desk{}, &fakeSaver{}
		left := []timeline.Observation{
			timeline.RuntimeSeen{UID: "nobody", ArrivedAt: time.Now()},
			timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: object()},
			timeline.PodGone{UID: "uid-1", ArrivedAt: time.Now()},
		}
		_, observe, stop := startRestored(t, d, k, Restored{InFlight: left})
		defer stop()
		synctest.Wait()
		// The pod watch does not know that this start-up was reported.
		observe(timeline.PodGone{UID: "uid-1", ArrivedAt: time.Now()})
		if calls := d.take(); !slices.Contains(calls, "settled pod deleted") || len(d.settled) != 1 {
			t.Errorf("calls %q", calls)
		}
	})
}

// TestReconstructedPodsAreNotSaved checks that the state excludes pods that are older than the first agent.
func TestReconstructedPodsAreNotSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &fakeSaver{}
		old := ready(object())
		time.Sleep(time.Hour)
		_, observe, stop := startRestored(t, &desk{}, k, Restored{})
		defer stop()
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Pod: old})
		if len(k.kept) > 0 {
			t.Errorf("kept %+v", k.kept)
		}
	})
}
