package reconcile

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// A user debugs a pod that has been ready for a long time. The reconciler reports the pull for the debug container
// once, with its kind. The pull is not part of the start-up, which the reconciler has reported before.
func TestPullsOfEphemeralContainers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		r, observe, stop := startWith(t, d, timeline.Scope{Runtime: true, Events: true}, func(c *Config) {
			c.onReport(EphemeralPulled, func(tl timeline.Timeline) {
				for _, p := range tl.EphemeralPulls {
					d.note("debugged %s %s %s %s", tl.Name, p.Container, p.Kind, p.Outcome)
				}
			})
		})
		defer stop()
		pod := ready(object())
		pod.Containers[0].PullPolicy = timeline.PullNever
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
		time.Sleep(eventsPatience)
		synctest.Wait()
		if calls := d.take(); !slices.Contains(calls, "settled pod ready") {
			t.Fatalf("%q", calls)
		}
		settled := d.settled[0]
		for n := range 2 { // the second container arrives when everything about the first container is known
			name := fmt.Sprintf("debugger%d", n)
			add := func(c timeline.Container) {
				pod.Containers = append(slices.Clone(pod.Containers), c)
				observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
			}
			debugger := timeline.Container{Name: name, Kind: timeline.KindEphemeral, Image: "tools",
				PullPolicy: timeline.PullIfNotPresent, State: timeline.StateWaiting}
			add(debugger)
			observe(timeline.RuntimeSeen{UID: "uid-1", QueriedAt: time.Now(), ArrivedAt: time.Now(),
				Images: []timeline.Image{{Ref: "tools"}}})
			expect(t, d, "query runtime-1 [tools]", "watch runtime-1")
			event := func(reason, message string) {
				observe(timeline.EventSeen{UID: "uid-1", ArrivedAt: time.Now(), Live: true, Container: name,
					Reason: reason, Message: message,
					NamedAt: time.Now(), FirstAt: time.Now().Truncate(time.Second),
					LastAt: time.Now().Truncate(time.Second), Count: 1})
			}
			d.changed = nil
			event("Pulling", `Pulling image "tools"`)
			if !slices.Equal(d.changed, []string{"uid-1"}) {
				t.Errorf("changed by the Event: %q", d.changed)
			}
			going, err := r.Pulling(t.Context())
			if err != nil || len(going.Timelines) != 1 || len(going.Timelines[0].EphemeralPulls) != n+1 ||
				going.Timelines[0].EphemeralPulls[n].Outcome != "pulling" {
				t.Errorf("while it is in progress: %+v, %v", going, err)
			}
			time.Sleep(2 * time.Second)
			event("Pulled", `Successfully pulled image "tools" in 2s (2s including waiting). Image size: 5 bytes.`)
			pod.Containers = slices.Clone(pod.Containers[:len(pod.Containers)-1])
			debugger.State, debugger.StartedAt = timeline.StateRunning, time.Now().Truncate(time.Second)
			add(debugger)
			time.Sleep(2 * eventsPatience)
			synctest.Wait()
			calls := d.take()
			report := slices.DeleteFunc(slices.Clone(calls), func(c string) bool {
				return c != "debugged pod "+name+" ephemeral downloaded"
			})
			if len(report) != 1 || !slices.Contains(calls, "unwatch runtime-1") &&
				!slices.Contains(calls, "unwatch uid-1") {
				t.Errorf("%q", calls)
			}
		}
		all := d.known(t, r)
		if len(all) != 1 || len(all[0].EphemeralPulls) != 2 || all[0].Total != settled.Total || len(d.settled) != 1 ||
			len(all[0].Pulls) != 1 {
			t.Errorf("%+v", all)
		}
		observe(timeline.PodGone{UID: "uid-1", ArrivedAt: time.Now(), Live: true})
		if len(d.gone) != 1 || len(d.gone[0].EphemeralPulls) != 2 {
			t.Errorf("reported as deleted: %+v", d.gone)
		}
	})
}

// The reconciler does not report ephemeral containers that ran before the agent started.
func TestEarlierEphemeralContainersAreNotReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		r, observe, stop := startWith(t, d, timeline.Scope{Runtime: true, Events: true}, func(c *Config) {
			c.onReport(EphemeralPulled, func(tl timeline.Timeline) { d.note("debugged %+v", tl.EphemeralPulls) })
		})
		defer stop()
		pod := ready(object())
		pod.Containers = append(pod.Containers,
			timeline.Container{Name: "debugger", Kind: timeline.KindEphemeral, Image: "tools",
				State: timeline.StateTerminated})
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Pod: pod})
		going, err := r.Pulling(t.Context())
		if err != nil || len(going.Timelines) > 0 && len(going.Timelines[0].EphemeralPulls) != 0 {
			t.Errorf("%+v, %v", going, err)
		}
		observe(timeline.PodGone{UID: "uid-1", ArrivedAt: time.Now(), Live: true})
		for _, call := range d.take() {
			if call[:3] == "deb" {
				t.Error(call)
			}
		}
	})
}

// A container that restarts, during or after the start-up, can pull its image again.
func TestRestartingContainersMayPull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		r, observe, stop := start(t, d, timeline.Scope{})
		defer stop()
		crashed := object()
		crashed.UID, crashed.Name = "uid-2", "crashed"
		crashed.Containers[0].State, crashed.Containers[0].FinishedAt = timeline.StateTerminated, time.Now()
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: crashed})
		waits := object() // this container waits for its first run, which is part of the start-up
		waits.UID = "uid-3"
		waits.Containers[0].State = timeline.StateWaiting
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: waits})
		pod := ready(object())
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
		crashes := 0
		idle := func() []timeline.IdleContainer {
			going, err := r.Pulling(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return slices.DeleteFunc(going.Idle, func(c timeline.IdleContainer) bool {
				crashes += strings.Count(c.Pod, "crashed")
				return c.Pod == "crashed"
			})
		}
		if l := idle(); len(l) != 0 {
			t.Errorf("it runs, but got %+v", l)
		}
		pod.Containers = slices.Clone(pod.Containers)
		pod.Containers[0].State, pod.Containers[0].FinishedAt = timeline.StateTerminated, time.Now()
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
		want := timeline.IdleContainer{Namespace: "ns", Pod: "pod", Container: "app", Image: "cold",
			Kind: timeline.KindMain, RanUntil: time.Now()}
		if l := idle(); len(l) != 1 || l[0] != want {
			t.Errorf("%+v, want %+v", l, want)
		}
		pod.Phase = "Failed"
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
		if l := idle(); len(l) != 0 {
			t.Errorf("it never runs again, but got %+v", l)
		}
		if crashes != 3 {
			t.Errorf("a container that crashed before it was ready: reported %d of 3 times", crashes)
		}
	})
}
