package reconcile

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// followLater makes a desk record what happens after start-ups.
func followLater(d *desk, events bool, kept *time.Time) func(*Config) {
	return func(c *Config) {
		c.Optional.PostStartup, c.Optional.Events = true, events
		c.Saver = &fakeSaver{eventsUntil: kept}
		c.alsoReport(PostStartup, func(r Report) {
			if run := r.PostStartup.Run; run != nil {
				d.note("run %d of %s in %s ended with %d", run.Attempt, run.Container, r.Timeline.Name, run.ExitCode)
			} else {
				d.note("event %s of %s", r.PostStartup.Event.Reason, r.Timeline.Name)
			}
		})
	}
}

func laterEvent(reason string, named time.Time, live bool) timeline.EventSeen {
	return timeline.EventSeen{UID: "uid-1", ArrivedAt: time.Now(), Live: live, Reason: reason, NamedAt: named,
		FirstAt: named.Truncate(time.Second), Count: 1}
}

func TestLaterContainerRunsAreReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept time.Time
		d := &desk{}
		_, observe, stop := startWith(t, d, timeline.Scope{Runtime: true}, followLater(d, false, &kept))
		defer stop()
		pod := longReady(d, observe)
		see := func() { observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod}) }
		pod.Containers[0].State, pod.Containers[0].FinishedAt, pod.Containers[0].ExitCode = timeline.StateTerminated,
			time.Now(), 3
		see()
		expect(t, d, "run 0 of app in pod ended with 3")
		last := timeline.Run{StartedAt: pod.Containers[0].StartedAt, FinishedAt: time.Now(), ExitCode: 3}
		pod.Containers[0] = timeline.Container{Name: "app", State: timeline.StateRunning, Attempt: 1,
			StartedAt: time.Now(), LastRun: &last}
		see()
		observe(laterEvent("Unhealthy", time.Now(), true)) // the reconciler ignores this Event without Optional.Events
		observe(timeline.PodGone{UID: "uid-1", ArrivedAt: time.Now(), Live: true})
		expect(t, d)
	})
}

// The reconciler keeps Event watches open until the pods are deleted. It reports each Event once, even if the API
// server sends the Event again.
func TestLaterEventsAreReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept time.Time
		d := &desk{}
		_, observe, stop := startWith(t, d, timeline.Scope{Runtime: true}, followLater(d, true, &kept))
		defer stop()
		before := time.Now().Add(-time.Second)
		pod := ready(object())
		pod.Containers[0].PullPolicy = timeline.PullNever
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
		time.Sleep(time.Minute)
		synctest.Wait()
		d.take()
		first := laterEvent("Unhealthy", time.Now(), true)
		observe(laterEvent("Started", before, false)) // part of the start-up
		observe(first)
		expect(t, d, "event Unhealthy of pod")
		if !kept.Equal(first.NamedAt) {
			t.Errorf("kept %s, want %s", kept, first.NamedAt)
		}
		first.Count = 2
		observe(first) // the API server sends the Event again
		time.Sleep(time.Second)
		undated := laterEvent("BackOff", time.Time{}, true)
		observe(undated)
		expect(t, d)
		observe(laterEvent("BackOff", time.Now(), true))
		expect(t, d, "event BackOff of pod")
		observe(timeline.PodGone{UID: "uid-1", ArrivedAt: time.Now(), Live: true})
		expect(t, d, "unwatch uid-1")
	})
}

// After a restart, the API server sends all its Events again. The agent reports the Events that it missed, unless
// they are too old.
func TestEventsAfterARestart(t *testing.T) {
	for name, test := range map[string]struct {
		until time.Duration // age of the saved time when the agent starts; 0 means that no time was saved
		want  []string
	}{
		"nothing kept": {0, []string{"event now of pod"}},
		"a minute ago": {time.Minute, []string{"event half a minute ago of pod", "event now of pod"}},
		"an hour ago": {time.Hour,
			[]string{"event two minutes ago of pod", "event half a minute ago of pod", "event now of pod"}},
		"in the future, because the clock was set back": {-time.Hour, []string{"event now of pod"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var kept time.Time
				d := &desk{}
				follow := followLater(d, true, &kept)
				_, observe, stop := startWith(t, d, timeline.Scope{Runtime: true}, func(c *Config) {
					follow(c)
					c.Scope.Since = time.Now()
					if test.until != 0 {
						c.Restored.EventsUntil = time.Now().Add(-test.until)
					}
				})
				defer stop()
				began := time.Now()
				pod := object()
				pod.CreatedAt = began.Add(-24 * time.Hour)
				pod.Containers[0].PullPolicy = timeline.PullNever
				over := ready(pod)
				for i := range over.Conditions {
					over.Conditions[i].TransitionAt = pod.CreatedAt
				}
				over.Containers[0].StartedAt = pod.CreatedAt
				observe(timeline.PodSeen{ArrivedAt: began, Pod: over})
				time.Sleep(time.Minute)
				synctest.Wait()
				d.take()
				for _, event := range []timeline.EventSeen{
					laterEvent("ten minutes ago", began.Add(-10*time.Minute), false),
					laterEvent("two minutes ago", began.Add(-2*time.Minute), false),
					laterEvent("half a minute ago", began.Add(-30*time.Second), false),
					laterEvent("now", began.Add(time.Second), true),
				} {
					observe(event)
				}
				expect(t, d, test.want...)
			})
		})
	}
}
