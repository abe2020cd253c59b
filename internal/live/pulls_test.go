package live

import (
	"slices"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/livepull"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestWaitsForImage checks that only starting pods wait for the images of their containers, and that ephemeral
// containers can wait for images at any time.
func TestWaitsForImage(t *testing.T) {
	pulling := []timeline.Pull{{Outcome: imagepull.OutcomePulling}}
	for _, test := range []struct {
		of   timeline.Timeline
		want bool
	}{
		{timeline.Timeline{State: timeline.StateStarting, Pulls: pulling}, true},
		{timeline.Timeline{State: timeline.StateStarting,
			Pulls: []timeline.Pull{{Outcome: imagepull.OutcomeFailed}}}, true},
		{timeline.Timeline{State: timeline.StateStarting,
			Pulls: []timeline.Pull{{Outcome: imagepull.OutcomeDownloaded}}}, false},
		{timeline.Timeline{State: timeline.StateGivenUp, Pulls: pulling}, false},
		{timeline.Timeline{State: timeline.StateReady, EphemeralPulls: pulling}, true},
		{timeline.Timeline{State: timeline.StateReady,
			EphemeralPulls: []timeline.Pull{{Outcome: imagepull.OutcomePresent}}}, false},
	} {
		if got := waitsForImage(test.of); got != test.want {
			t.Errorf("%+v: %t", test.of, got)
		}
	}
}

// TestStreamSendsPulls checks that the hub queries pulls every two seconds while a pull is in progress, and otherwise
// rarely. The hub must send pulls until no pull is left.
func TestStreamSendsPulls(t *testing.T) {
	n := &node{}
	run(t, n, func(t *testing.T, h *Hub) {
		v := follow(t, h, "")
		defer v.Close()
		received(t, v)
		time.Sleep(time.Minute)
		events, _ := received(t, v)
		expect(t, events)
		_, seen := n.counts()
		if seen < 5 || seen > 7 {
			t.Errorf("queried %d times in a minute without pulls", seen)
		}
		waiting := pod("a")
		waiting.Pulls = []timeline.Pull{{Container: "c", Image: "r.example/i:1", Outcome: imagepull.OutcomePulling}}
		n.setPulls(livepull.Snapshot{Starting: []timeline.Timeline{waiting}, Now: time.Now()})
		n.set(h, waiting)
		for range 10 {
			time.Sleep(3 * time.Second)
			events, _ := received(t, v)
			if !slices.Contains(events, "pulls") {
				t.Errorf("reported %q", events)
			}
		}
		_, now := n.counts()
		if seen = now - seen; seen < 14 || seen > 16 {
			t.Errorf("queried %d times in 30 s", seen)
		}
		n.setPulls(livepull.Snapshot{Now: time.Now()})
		time.Sleep(5 * time.Second)
		events, _ = received(t, v)
		expect(t, events, "pulls")
		time.Sleep(30 * time.Second)
		events, _ = received(t, v)
		expect(t, events)
	})
}

// TestSlowQueriesAreSpacedOut uses a node on which queries are slow. The queries must still take only 2 % of the time.
func TestSlowQueriesAreSpacedOut(t *testing.T) {
	waiting := pod("a")
	waiting.Pulls = []timeline.Pull{{Container: "c", Image: "r.example/i:1", Outcome: imagepull.OutcomePulling}}
	n := &node{slow: 200 * time.Millisecond, pulls: livepull.Snapshot{Starting: []timeline.Timeline{waiting}}}
	run(t, n, func(t *testing.T, h *Hub) {
		v := follow(t, h, "")
		defer v.Close()
		const minutes = 5
		for range minutes * 60 {
			n.set(h, waiting)
			time.Sleep(time.Second)
		}
		queried, pulls := n.counts()
		const most = minutes * 60 * 5 / restFactor
		if queried < most/3 || pulls < most/3 || queried > most || pulls > most {
			t.Errorf("queried pods %d times and pulls %d times, each for %s, in %d minutes; want at most %d",
				queried, pulls, n.slow, minutes, most)
		}
	})
}
