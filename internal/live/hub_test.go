package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/livepull"
	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// node answers a hub's queries. It holds pods by UID, and counts the queries.
type node struct {
	mu        sync.Mutex
	pods      map[string]timeline.Timeline
	asked     int
	pulls     livepull.Snapshot
	pullsSeen int
	slow      time.Duration // duration of each answer; set before the hub runs
}

func (n *node) some(_ context.Context, uids []string) ([]timeline.Timeline, error) {
	time.Sleep(n.slow)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked++
	var some []timeline.Timeline
	for _, uid := range uids {
		if t, ok := n.pods[uid]; ok {
			some = append(some, t)
		}
	}
	return some, nil
}

func (n *node) livePulls(context.Context) (livepull.Snapshot, error) {
	time.Sleep(n.slow)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pullsSeen++
	return n.pulls, nil
}

// counts returns how often pods and pulls were queried.
func (n *node) counts() (asked, pulls int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked, n.pullsSeen
}

func (n *node) setPulls(pulls livepull.Snapshot) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pulls = pulls
}

// kept returns how much a hub keeps in memory.
func kept(h *Hub) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	held := len(h.epoch) + len(h.changed) + len(h.gone) + len(h.log.latest)
	if h.log.order != nil {
		held++
	}
	return held
}

// set adds or changes a pod.
func (n *node) set(h *Hub, t timeline.Timeline) {
	n.mu.Lock()
	if n.pods == nil {
		n.pods = map[string]timeline.Timeline{}
	}
	n.pods[t.UID] = t
	n.mu.Unlock()
	h.Changed(t.UID)
}

func (n *node) remove(h *Hub, uid string) {
	n.mu.Lock()
	t := n.pods[uid]
	delete(n.pods, uid)
	n.mu.Unlock()
	h.Gone(t)
}

// run runs a hub in a synctest bubble.
func run(t *testing.T, n *node, test func(t *testing.T, h *Hub)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := New(Config{Some: n.some, Pulls: n.livePulls, Now: time.Now, Registerer: prometheus.NewRegistry(),
			Logger: zap.NewNop()})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- h.Run(ctx) }()
		test(t, h)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func follow(t *testing.T, h *Hub, lastID string) *Viewer {
	t.Helper()
	v, err := h.Follow(lastID)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// received returns the events that a viewer has received, each as kind and pod name, and the last ID.
func received(t *testing.T, v *Viewer) (events []string, lastID string) {
	t.Helper()
	for {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		batch, err := v.Next(ctx)
		cancel()
		if err != nil {
			return events, lastID
		}
		for _, e := range batch {
			events = append(events, strings.TrimSpace(e.Kind+" "+e.Pod.Name))
			lastID = e.id
		}
	}
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("received %q, want %q", got, want)
	}
}

func pod(name string) timeline.Timeline {
	return timeline.Timeline{Namespace: "ns", Name: name, UID: "uid-" + name, State: timeline.StateStarting}
}

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
		expect(t, events, "pod a", "gone b") // b was gone before its first event
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

// A pod that changes all the time is sent twice a second, once for all viewers.
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
		events, _ := received(t, w) // read nothing meanwhile
		expect(t, events, "pod a")
	})
}

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

// The log holds maxBytes. A viewer that falls further behind gets a reset, and resumes from there.
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
		if size := maxBytes / pods; size < 8<<10 || size > 16<<10 { // of a record of about 10 KiB
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

func floor(h *Hub) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.floor
}

// TestLog compares the log with one that keeps everything: a viewer that missed nothing receives the last event of
// each subject, in order, and the log stays small.
func TestLog(t *testing.T) {
	l := newLog()
	all := map[string]uint64{}
	size := 0
	for i := range 20_000 {
		subject := fmt.Sprint(i * i % 97)
		l.add(&Event{Kind: KindPod, subject: subject, data: make([]byte, i%5000)}, "e")
		all[subject] = l.last
		size = max(size, l.order.Len())
		if i%500 != 0 {
			continue
		}
		for _, from := range []uint64{l.floor, l.last - min(l.last, 50), l.last} {
			if from < l.floor {
				continue
			}
			given := map[string]uint64{}
			for at := from; ; {
				batch := l.after(at)
				if len(batch) == 0 {
					break
				}
				for _, e := range batch {
					if e.number <= at {
						t.Fatalf("event %d after %d", e.number, at)
					}
					at = e.number
					given[e.subject] = e.number
				}
			}
			for subject, number := range all {
				if (number > from) != (given[subject] == number) {
					t.Fatalf("after %d: %s: received %d, the last is %d, the floor %d", from, subject, given[subject],
						number, l.floor)
				}
			}
		}
	}
	if l.bytes > maxBytes || size > 97 {
		t.Errorf("%d bytes, %d places", l.bytes, size)
	}
}

// Without viewers, nothing is queried or kept.
func TestHubWithoutViewersIsIdle(t *testing.T) {
	n := &node{}
	run(t, n, func(t *testing.T, h *Hub) {
		n.set(h, pod("a"))
		n.set(h, pod("b"))
		n.remove(h, "uid-b")
		time.Sleep(time.Hour)
		if asked, pulls := n.counts(); asked != 0 || pulls != 0 || kept(h) != 0 {
			t.Errorf("queried pods %d times and pulls %d times, kept %d", asked, pulls, kept(h))
		}
		v := follow(t, h, "")
		n.set(h, pod("a"))
		time.Sleep(time.Second)
		v.Close()
		time.Sleep(2 * time.Minute)
		asked, pulls := n.counts()
		n.set(h, pod("a"))
		time.Sleep(time.Hour)
		if again, more := n.counts(); again != asked || more != pulls || asked != 1 || kept(h) != 0 {
			t.Errorf("queried pods %d times, then %d; pulls %d, then %d; kept %d", asked, again, pulls, more, kept(h))
		}
	})
}

func TestViewersAreBounded(t *testing.T) {
	run(t, &node{}, func(t *testing.T, h *Hub) {
		var all []*Viewer
		for range maxViewers {
			all = append(all, follow(t, h, ""))
		}
		if _, err := h.Follow(""); !errors.Is(err, ErrTooManyViewers) {
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

func viewers(h *Hub) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.viewers
}

// Starting pods wait for their images, and ephemeral containers wait for theirs at any time.
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
		if got := pulls(test.of); got != test.want {
			t.Errorf("%+v: %t", test.of, got)
		}
	}
}

// Pulls are queried every two seconds while one is in progress, otherwise rarely, and sent until none is left.
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

// TestSlowQueriesAreSpacedOut has a node on which queries are slow: they still take only a fiftieth of the time.
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
		asked, pulls := n.counts()
		const most = minutes * 60 * 5 / restFactor
		if asked < most/3 || pulls < most/3 || asked > most || pulls > most {
			t.Errorf("queried pods %d times and pulls %d times, each for %s, in %d minutes; want at most %d",
				asked, pulls, n.slow, minutes, most)
		}
	})
}
