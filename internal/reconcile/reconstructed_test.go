package reconcile

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestReconstructedIsCountedByReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := ready(object())
		over.UID = "over"
		time.Sleep(time.Hour)
		named := func(uid string) timeline.Pod {
			pod := object()
			pod.UID = uid
			return pod
		}
		r, observe, stop := startRestored(t, &desk{}, &fakeSaver{}, Restored{
			InFlight: []timeline.Observation{timeline.PodSeen{ArrivedAt: time.Now(), Live: true,
				Pod: named("restored")}},
			Reported: []string{"reported"},
		})
		defer stop()
		seen := func(pod timeline.Pod, live bool) {
			observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: live, Pod: pod})
		}
		seen(over, false)
		seen(named("restored"), false)
		seen(named("reported"), false)
		seen(named("late"), false)
		seen(named("late"), true)
		seen(named("watched"), true)
		for _, uid := range []string{"over", "restored", "reported", "late", "watched"} {
			observe(timeline.PodGone{UID: uid, ArrivedAt: time.Now(), Live: true})
		}
		for how, counter := range map[string]prometheus.Counter{
			"over": r.reconstructed.over, "restored": r.reconstructed.restored, "late": r.reconstructed.late,
		} {
			if got := testutil.ToFloat64(counter); got != 1 {
				t.Errorf("%s: counted %v, want 1", how, got)
			}
		}
	})
}
