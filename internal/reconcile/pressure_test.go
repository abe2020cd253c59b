package reconcile

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestPressureIsSampledWhilePodsStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		_, observe, stop := start(t, d, timeline.Scope{})
		expectWanted := func(what string, want ...bool) {
			t.Helper()
			if !slices.Equal(d.sampled, want) {
				t.Errorf("%s: samples requested %v, want %v", what, d.sampled, want)
			}
		}
		var io time.Duration
		sample := func() { // all tasks wait for I/O all the time
			observe(timeline.PressureSeen{ArrivedAt: time.Now(), Stalled: timeline.Stalled{IO: io}})
		}
		expectWanted("nothing there")
		pod, other := object(), object()
		other.UID, other.Name = "uid-2", "other"
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
		expectWanted("the first pod", true)
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: other})
		for range 12 {
			sample()
			time.Sleep(250 * time.Millisecond)
			io += 250 * time.Millisecond
		}
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: ready(pod)})
		expectWanted("one is ready", true)
		observe(timeline.PodGone{UID: other.UID, ArrivedAt: time.Now(), Live: true})
		expectWanted("the other is gone", true, false)
		stop()
		report := slices.ContainsFunc(d.settled[0].Phases, func(s timeline.Span) bool {
			return s.Pressure != nil && s.Pressure.IO == 1
		})
		if !report {
			t.Errorf("no phase has pressure: %+v", d.settled[0].Phases)
		}
	})
}
