package live

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/podlapse/podlapse/internal/startuptest"
)

func TestResume(t *testing.T) {
	n := &node{}
	run(t, n, func(t *testing.T, h *Hub) {
		v := follow(t, h, "")
		_, first := received(t, v)
		n.set(h, pod("a"))
		time.Sleep(time.Second)
		_, second := received(t, v)
		v.Close()

		n.set(h, pod("b"))
		time.Sleep(30 * time.Second) // the last viewer left a short time ago
		for id, want := range map[string][]string{
			first: {"pod a", "pod b"}, second: {"pod b"}, "": {"reset"}, "x": {"reset"}, second + "9": {"reset"},
			"0-1": {"reset"}, "-1": {"reset"},
		} {
			w := follow(t, h, id)
			events, _ := received(t, w)
			expect(t, events, want...)
			w.Close()
		}

		time.Sleep(2 * time.Minute)
		w := follow(t, h, second)
		defer w.Close()
		events, _ := received(t, w)
		expect(t, events, "reset")
	})
}

// TestResumeTooFarBehind uses a viewer that missed more events than the log holds (maxBytes). The viewer must get a
// reset and then continue with new events.
func TestResumeTooFarBehind(t *testing.T) {
	n := &node{}
	run(t, n, func(t *testing.T, h *Hub) {
		slow, fast := follow(t, h, ""), follow(t, h, "")
		defer slow.Close()
		defer fast.Close()
		received(t, slow)
		received(t, fast)
		pods := 0
		for floor(h) == 0 {
			n.set(h, startuptest.New(pods))
			pods++
			time.Sleep(time.Second)
			if events, _ := received(t, fast); len(events) != 1 {
				t.Fatalf("reported %q", events)
			}
		}
		if size := maxBytes / pods; size < 8<<10 || size > 16<<10 { // a record has about 10 KiB
			t.Errorf("room for %d pods", pods)
		}
		events, id := received(t, slow)
		expect(t, events, "reset")
		n.set(h, pod("a"))
		time.Sleep(time.Second)
		events, _ = received(t, slow)
		expect(t, events, "pod a")
		resumed := follow(t, h, id)
		defer resumed.Close()
		events, _ = received(t, resumed)
		expect(t, events, "pod a")
		if got := testutil.ToFloat64(h.metrics.resets); got != 3 {
			t.Errorf("%v resets", got)
		}
	})
}
