package podwatch

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/kubeclient"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	patience = 15 * time.Second
	nodeName = "node-a"
)

// begun is the time on the test's clock when a test begins.
func begun() time.Time { return time.Date(2026, 8, 17, 12, 0, 0, 250e6, time.UTC) }

// clock is the agent's clock, moved by the test.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// harness runs a source and collects what it says.
type harness struct {
	t        *testing.T
	clock    *clock
	seen     chan timeline.Observation // capacity 256, beyond what a test observes
	reports  chan report               // capacity 1024, beyond what a test waits for
	stop     context.CancelFunc
	finished chan struct{}
}

type report struct {
	up     bool
	detail string
}

func newHarness(t *testing.T) *harness {
	return &harness{
		t: t, clock: &clock{now: begun()},
		seen: make(chan timeline.Observation, 256), reports: make(chan report, 1024), finished: make(chan struct{}),
	}
}

func (h *harness) observe(ctx context.Context, o timeline.Observation) {
	switch o.(type) {
	case timeline.EventsWatched, timeline.EventsLost:
		return // comes a second after each opening, and only if it lasted so long; the tests in a bubble look at it
	}
	select {
	case h.seen <- o:
	case <-ctx.Done():
	}
}

func (h *harness) report(up bool, detail string) { h.reports <- report{up, detail} }

func (h *harness) run(run func(context.Context) error) {
	ctx, stop := context.WithCancel(h.t.Context())
	h.stop = stop
	go func() {
		defer close(h.finished)
		if err := run(ctx); err != nil {
			h.t.Errorf("Run: %v", err)
		}
	}()
	h.t.Cleanup(func() {
		stop()
		select {
		case <-h.finished:
		case <-time.After(patience):
			h.t.Error("Run did not return")
		}
	})
}

func (h *harness) runPods(url string, known ...string) {
	h.run(NewPods(Config{
		Client: clientFor(h.t, url), NodeName: nodeName,
		Observe: h.observe, Report: h.report, Now: h.clock.Now, Known: known,
	}).Run)
}

func (h *harness) runEvents(url string, limit int) *Events {
	events := NewEvents(EventsConfig{
		Client: eventClientFor(h.t, url), NodeName: nodeName, Limit: limit,
		Observe: h.observe, Report: h.report, Now: h.clock.Now,
	})
	h.run(events.Run)
	return events
}

func (h *harness) next() timeline.Observation {
	h.t.Helper()
	select {
	case o := <-h.seen:
		return o
	case <-time.After(patience):
		h.t.Fatal("no observation")
		return nil
	}
}

// nothing fails when an observation is there that the test does not expect.
func (h *harness) nothing() {
	h.t.Helper()
	select {
	case o := <-h.seen:
		h.t.Errorf("unexpected %+v", o)
	default:
	}
}

func (h *harness) nextPod(name string, live bool) timeline.Pod {
	h.t.Helper()
	o := h.next()
	seen, ok := o.(timeline.PodSeen)
	if !ok || seen.Pod.Name != name || seen.Live != live || seen.ArrivedAt != h.clock.Now() {
		h.t.Fatalf("saw %+v, want pod %s, live %t", o, name, live)
	}
	return seen.Pod
}

func (h *harness) nextGone(uid string, live bool) {
	h.t.Helper()
	want := timeline.PodGone{UID: uid, ArrivedAt: h.clock.Now(), Live: live}
	if o := h.next(); o != want {
		h.t.Fatalf("saw %+v, want %+v", o, want)
	}
}

func (h *harness) nextEvent(reason string, live bool) timeline.EventSeen {
	h.t.Helper()
	o := h.next()
	seen, ok := o.(timeline.EventSeen)
	if !ok || seen.Reason != reason || seen.Live != live {
		h.t.Fatalf("saw %+v, want event %s, live %t", o, reason, live)
	}
	return seen
}

// until waits for a report of that kind whose detail contains text.
func (h *harness) until(up bool, text string) {
	h.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case r := <-h.reports:
			if r.up == up && strings.Contains(r.detail, text) {
				return
			}
		case <-deadline:
			h.t.Fatalf("no report of up=%t with %q", up, text)
		}
	}
}

// eventually polls what cannot be waited for.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never %s", what)
		}
	}
}

func clientFor(t *testing.T, url string) rest.Interface { return newClientFor(t, url, kubeclient.New) }

func eventClientFor(t *testing.T, url string) rest.Interface {
	return newClientFor(t, url, NewEventClient)
}

func newClientFor(t *testing.T, url string, build func(*rest.Config) (rest.Interface, error)) rest.Interface {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client, err := build(&rest.Config{Host: url, Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func pod(name, uid string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(uid)},
		Spec:       corev1.PodSpec{NodeName: nodeName, Containers: []corev1.Container{{Name: "app", Image: "app:1"}}},
	}
}
