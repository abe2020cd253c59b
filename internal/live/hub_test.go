package live

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/podlapse/podlapse/pkg/api"
)

func TestStreamSendsChanges(t *testing.T) {
	n := &node{}
	run(t, n, func(t *testing.T, h *Hub) {
		v := follow(t, h, "")
		defer v.Close()
		events, _ := received(t, v)
		expect(t, events, "reset")

		n.set(h, pod("a"))
		n.set(h, pod("b"))
		n.remove(h, "uid-b")
		time.Sleep(time.Second)
		events, _ = received(t, v)
		expect(t, events, "pod a", "gone b") // the pod b was deleted before the hub sent its first event
	})
}

func TestFrames(t *testing.T) {
	n := &node{}
	run(t, n, func(t *testing.T, h *Hub) {
		v := follow(t, h, "")
		defer v.Close()
		if _, err := v.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		n.set(h, pod("a"))
		batch, err := v.Next(t.Context())
		if err != nil || len(batch) != 1 {
			t.Fatalf("%v, %v", batch, err)
		}
		e := batch[0]
		line, err := api.EncodeLine(api.NewRecord(pod("a")))
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("id: %s\nevent: pod\ndata: %s\n\n", e.id, line); string(e.Frame()) != want {
			t.Errorf("got\n%s\nwant\n%s", e.Frame(), want)
		}
		out, err := e.Out()
		want := fmt.Sprintf("id: %s\nevent: out\ndata: %s\n\n", e.id,
			`{"id":"uid-a/0","namespace":"ns","name":"a","uid":"uid-a"}`)
		if err != nil || string(out) != want {
			t.Errorf("%v, got\n%s\nwant\n%s", err, out, want)
		}
	})
}

// TestChangesAreBatched uses a pod that changes all the time. The hub must send the pod twice per second, and encode
// each change only once for all viewers.
func TestChangesAreBatched(t *testing.T) {
	n := &node{}
	run(t, n, func(t *testing.T, h *Hub) {
		v, w := follow(t, h, ""), follow(t, h, "")
		defer v.Close()
		defer w.Close()
		received(t, v)
		received(t, w)
		seen := 0
		for range 1000 { // 10 s
			n.set(h, pod("a"))
			time.Sleep(9 * time.Millisecond)
			events, _ := received(t, v) // takes 1 ms
			seen += len(events)
		}
		if seen < 19 || seen > 21 {
			t.Errorf("%d events in 10 s", seen)
		}
		if got := testutil.ToFloat64(h.metrics.events); int(got) < 19 || int(got) > 21 {
			t.Errorf("%v events encoded", got)
		}
		events, _ := received(t, w) // the viewer w did not read during the 10 s
		expect(t, events, "pod a")
	})
}

// TestHubWithoutViewersIsIdle checks that the hub queries nothing and keeps nothing while no viewer is connected.
func TestHubWithoutViewersIsIdle(t *testing.T) {
	n := &node{}
	run(t, n, func(t *testing.T, h *Hub) {
		n.set(h, pod("a"))
		n.set(h, pod("b"))
		n.remove(h, "uid-b")
		time.Sleep(time.Hour)
		if queried, pulls := n.counts(); queried != 0 || pulls != 0 || kept(h) != 0 {
			t.Errorf("queried pods %d times and pulls %d times, kept %d", queried, pulls, kept(h))
		}
		v := follow(t, h, "")
		n.set(h, pod("a"))
		time.Sleep(time.Second)
		v.Close()
		time.Sleep(2 * time.Minute)
		queried, pulls := n.counts()
		n.set(h, pod("a"))
		time.Sleep(time.Hour)
		if again, more := n.counts(); again != queried || more != pulls || queried != 1 || kept(h) != 0 {
			t.Errorf("queried pods %d times, then %d; pulls %d, then %d; kept %d", queried, again, pulls, more, kept(h))
		}
	})
}

func TestViewersAreBounded(t *testing.T) {
	run(t, &node{}, func(t *testing.T, h *Hub) {
		var all []*Viewer
		for range maxViewers {
			all = append(all, follow(t, h, ""))
		}
		if _, err := h.AddViewer(""); !errors.Is(err, ErrTooManyViewers) {
			t.Errorf("one viewer too many: %v", err)
		}
		all[0].Close()
		all[0] = follow(t, h, "")
		for _, v := range all {
			v.Close()
		}
		if n := viewers(h); n != 0 || testutil.ToFloat64(h.metrics.refused) != 1 {
			t.Errorf("%d viewers, %v refused", n, testutil.ToFloat64(h.metrics.refused))
		}
	})
}
