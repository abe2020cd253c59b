package reconcile

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestProgressIsReportedOncePerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		last := map[string]time.Time{}
		r, observe, stop := startWith(t, d, timeline.Scope{}, func(c *Config) {
			c.Optional.Partial = true
			c.onReport(Partial, func(tl timeline.Timeline) {
				if !tl.Partial {
					t.Error("not partial")
				}
				if since := time.Since(last[tl.UID]); !last[tl.UID].IsZero() && since < time.Second {
					t.Errorf("%s reported again after %s", tl.UID, since)
				}
				last[tl.UID] = time.Now()
				d.note("progress %s %s", tl.UID, tl.State)
			})
		})
		pod := object()
		seen := func() { observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod}) }
		seen()
		expect(t, d, "progress uid-1 starting")
		seen() // the same object without a change
		time.Sleep(3 * time.Second)
		synctest.Wait()
		expect(t, d)

		pod.AcknowledgedAt = time.Now().Truncate(time.Second)
		seen()
		expect(t, d, "progress uid-1 starting")
		time.Sleep(100 * time.Millisecond)
		pod.Containers[0].State, pod.Containers[0].StartedAt = timeline.StateRunning, time.Now().Truncate(time.Second)
		seen()
		expect(t, d) // too soon after the previous report
		time.Sleep(2 * time.Second)
		synctest.Wait()
		expect(t, d, "progress uid-1 starting")

		pod = ready(pod)
		seen() // no evidence is missing, so the start-up settles at once
		expect(t, d, "settled pod ready")
		if d.settled[0].Partial {
			t.Error("a settled start-up is reported as partial")
		}
		other := object()
		other.UID = "uid-2"
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: other})
		observe(timeline.PodGone{UID: "uid-2", ArrivedAt: time.Now(), Live: true})
		expect(t, d, "progress uid-2 starting", "settled pod deleted")
		all := d.known(t, r)
		if len(all) != 2 || all[0].Partial || all[1].Partial {
			t.Errorf("%+v", all)
		}
		stop()
	})
}

// The reconciler also reports a start-up as partial if the start-up is over but waits for evidence. A reconstructed
// start-up has no partial reports.
func TestProgressOfReportedStartUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		r, observe, stop := startWith(t, d, timeline.Scope{Runtime: true}, func(c *Config) {
			d.mute, c.Optional.Partial = true, true
			c.onReport(Partial, func(tl timeline.Timeline) { d.note("progress %s %s", tl.UID, tl.State) })
			c.Restored = Restored{Reported: []string{"uid-3"}}
		})
		for i, live := range []bool{true, false, true} {
			pod := ready(object())
			pod.UID = fmt.Sprintf("uid-%d", i+1)
			observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: live, Pod: pod})
		}
		expect(t, d, "progress uid-1 ready")
		all := d.known(t, r)
		if len(all) != 3 || !all[0].Partial {
			t.Errorf("%+v", all)
		}
		stop()
	})
}
