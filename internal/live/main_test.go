package live

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/livepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// node responds to the hub's queries. The node contains pods by UID, and counts the queries.
type node struct {
	mu        sync.Mutex
	pods      map[string]timeline.Timeline
	queried   int
	pulls     livepull.Snapshot
	pullsSeen int
	slow      time.Duration // duration of each response; set before the hub runs
}

func (n *node) some(_ context.Context, uids []string) ([]timeline.Timeline, error) {
	time.Sleep(n.slow)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.queried++
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

// counts returns the numbers of queries of pods and of pulls.
func (n *node) counts() (queried, pulls int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.queried, n.pullsSeen
}

func (n *node) setPulls(pulls livepull.Snapshot) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pulls = pulls
}

// kept returns zero if a hub keeps nothing in memory.
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
	v, err := h.AddViewer(lastID)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// received returns the events that a viewer has received, and the last ID. Each event consists of its kind and the
// pod's name.
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

func viewers(h *Hub) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.viewers
}
