package eventwatch

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/internal/kubeclient"
	"github.com/podlapse/podlapse/internal/kubeclient/kubeclienttest"
	"github.com/podlapse/podlapse/internal/podwatchtest"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func watchOf(uid string) timeline.EventWatch {
	return timeline.EventWatch{UID: uid, InvolvedUID: "runtime-" + uid, Namespace: "ns", Name: "pod"}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	server := podwatchtest.Start(t)
	h := newHarness(t)
	pulling := kubeletEvent("runtime-a", "Pulling", kubeclienttest.Begun())
	server.Put(pulling)
	server.Put(kubeletEvent("runtime-b", "Other", kubeclienttest.Begun().Add(1)))
	scheduled := kubeletEvent("runtime-a", "Scheduled", kubeclienttest.Begun().Add(2))
	scheduled.Source.Component = "default-scheduler"
	server.Put(scheduled)

	events := h.runEvents(server.URL(), 0)
	h.Until(true, "idle")
	events.Watch(watchOf("a"))
	events.Watch(watchOf("a"))
	if got := h.nextEvent("Pulling", false); got.UID != "a" || got.NamedAt != kubeclienttest.Begun() {
		t.Errorf("saw %+v", got)
	}
	h.Until(true, "watching")

	h.Clock.Advance(kubeclient.CatchUp)
	server.Put(kubeletEvent("runtime-a", "Pulled", h.Clock.Now()))
	h.nextEvent("Pulled", true)
	h.Clock.Advance(time.Minute)
	repeated := pulling.DeepCopy()
	repeated.Count, repeated.LastTimestamp = 2, metav1.NewTime(h.Clock.Now().Truncate(time.Second))
	server.Put(repeated)
	if got := h.nextEvent("Pulling", true); got.Count != 2 || got.NamedAt != kubeclienttest.Begun() {
		t.Errorf("saw %+v", got)
	}
	server.Delete(pulling) // the Event expired
	server.Put(kubeletEvent("runtime-a", "Late", h.Clock.Now().Add(-time.Minute)))
	h.nextEvent("Late", false)
	expected := stats{Open: 1, Opened: 1, OpenFor: kubeclient.CatchUp + time.Minute, Received: 4,
		Starts: [3]uint64{0, 1, 0}}
	if got := statsOf(events); got != expected {
		t.Errorf("stats %+v, want %+v", got, expected)
	}
	want := []string{"list /api/v1/namespaces/ns/events ",
		"watch /api/v1/namespaces/ns/events involvedObject.uid=runtime-a,source=kubelet"}
	if got := server.Requests(); !slices.Equal(got, want) {
		t.Errorf("requests %q, want %q", got, want)
	}

	events.Unwatch("a")
	events.Unwatch("a")
	events.Unwatch("never wanted")
	kubeclienttest.Eventually(t, "closed", func() bool { return server.Watches() == 0 && statsOf(events).Open == 0 })
	h.Nothing()
}

func TestEventsReconnect(t *testing.T) {
	t.Parallel()
	server := podwatchtest.Start(t)
	server.Put(kubeletEvent("runtime-a", "One", kubeclienttest.Begun()))
	h := newHarness(t)
	events := h.runEvents(server.URL(), 0)
	events.Watch(watchOf("a"))
	h.nextEvent("One", false)

	server.Refuse(http.StatusInternalServerError, metav1.StatusReasonInternalError, "no etcd")
	server.BreakWatches()
	h.Until(false, "no etcd")
	h.Clock.Advance(time.Minute)
	server.Put(kubeletEvent("runtime-a", "Two", h.Clock.Now()))
	server.Heal()
	h.nextEvent("Two", false) // the Event One is not observed again, and the Event Two was in the initial burst
	h.Until(true, "watching")

	server.Refuse(http.StatusGone, metav1.StatusReasonExpired, "compacted")
	server.BreakWatches()
	h.Until(false, "compacted")
	server.Heal()
	h.Until(true, "watching")
	h.Nothing()
}

func TestEventsStartBeforeTheServer(t *testing.T) {
	t.Parallel()
	server := podwatchtest.Start(t)
	server.Refuse(http.StatusForbidden, metav1.StatusReasonForbidden, "events is forbidden")
	h := newHarness(t)
	events := New(Config{Report: h.Report, Now: h.Clock.Now, Registerer: prometheus.NewRegistry()})
	events.Watch(watchOf("a")) // Watch before Run
	if got := statsOf(events); got != (stats{Waiting: 1}) {
		t.Errorf("stats %+v", got)
	}
	events.Unwatch("a")
	if got := statsOf(events); got != (stats{}) {
		t.Errorf("stats %+v", got)
	}
	events = h.runEvents(server.URL(), 0)
	events.Watch(watchOf("b"))
	h.Until(false, "events is forbidden")
}

// TestEventsLimit puts each pod into its own namespace, so that no pods share a watch.
func TestEventsLimit(t *testing.T) {
	t.Parallel()
	server := podwatchtest.Start(t)
	for _, uid := range strings.Split("abcde", "") {
		e := kubeletEvent("runtime-"+uid, "Of-"+uid, kubeclienttest.Begun())
		e.Name, e.Namespace, e.InvolvedObject.Namespace = uid, uid, uid
		server.Put(e)
	}
	h := newHarness(t)
	events := h.runEvents(server.URL(), 2)
	for _, uid := range strings.Split("abcde", "") {
		w := watchOf(uid)
		w.Namespace = uid
		events.Watch(w)
	}
	seen := map[string]bool{h.Next().PodUID(): true, h.Next().PodUID(): true}
	if !seen["a"] || !seen["b"] {
		t.Errorf("first observed %v, want a and b", seen)
	}
	if got := statsOf(events); got.Open != 2 || got.Waiting != 3 {
		t.Errorf("stats %+v", got)
	}
	events.Unwatch("d") // the watch of the pod d leaves the queue
	events.Unwatch("a")
	h.nextEvent("Of-c", false)
	events.Unwatch("b")
	h.nextEvent("Of-e", false)
	if got := statsOf(events); got.Open != 2 || got.Waiting != 0 {
		t.Errorf("stats %+v", got)
	}
}

// TestEventsTakeTurns breaks the watches instead of waiting for the end of their leases. Each pod is in its own
// namespace, so that no pods share a watch.
func TestEventsTakeTurns(t *testing.T) {
	t.Parallel()
	server := podwatchtest.Start(t)
	eventOf := func(namespace, reason string, at time.Time) *corev1.Event {
		e := kubeletEvent("runtime-"+namespace, reason, at)
		e.Namespace, e.InvolvedObject.Namespace = namespace, namespace
		return e
	}
	for i := range 3 {
		server.Put(eventOf(fmt.Sprint(i), "E", kubeclienttest.Begun()))
	}
	h := newHarness(t)
	events := h.runEvents(server.URL(), 1)
	for i := range 3 {
		w := watchOf(fmt.Sprint(i))
		w.Namespace = w.UID
		events.Watch(w)
	}
	for i := range 3 {
		if got := h.nextEvent("E", false); got.UID != fmt.Sprint(i) {
			t.Errorf("turn %d is of %s", i, got.UID)
		}
		server.BreakWatches()
	}
	// In the next round, each watch begins with the Events since its previous lease.
	server.Put(eventOf("0", "Missed", kubeclienttest.Begun().Add(time.Second)))
	h.nextEvent("Missed", false)
}

func TestEventsStopWhileTheServerHangs(t *testing.T) {
	t.Parallel()
	server := podwatchtest.Start(t)
	server.Hang()
	h := newHarness(t)
	events := h.runEvents(server.URL(), 0)
	events.Watch(watchOf("a"))
	kubeclienttest.Eventually(t, "requested", func() bool { return len(server.Requests()) == 1 })
	events.Unwatch("a")
	kubeclienttest.Eventually(t, "closed", func() bool { return statsOf(events).Open == 0 })
	events.Watch(watchOf("b"))
	kubeclienttest.Eventually(t, "requested", func() bool { return len(server.Requests()) == 2 })
	stopped := time.Now()
	h.Stop()
	<-h.Finished
	if took := time.Since(stopped); took > 5*time.Second {
		t.Errorf("took %v to stop", took)
	}
}

func TestEventWithoutName(t *testing.T) {
	t.Parallel()
	server := podwatchtest.Start(t)
	server.Put(&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "ns", Name: "pod", UID: "runtime-a"},
		Source:         corev1.EventSource{Component: "kubelet"}})
	h := newHarness(t)
	h.runEvents(server.URL(), 0).Watch(watchOf("a"))
	if got := h.nextEvent("", false); got.Count != 1 || !got.FirstAt.IsZero() {
		t.Errorf("saw %+v", got)
	}
}

func TestRemedyIsNotTruncated(t *testing.T) {
	if n := len("watch events: " + remedy); n > 150 {
		t.Errorf("a remedy of %d bytes leaves no room for the API server's response", n)
	}
}
