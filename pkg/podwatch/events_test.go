package podwatch

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	pulling := kubeletEvent("runtime-a", "Pulling", begun())
	server.Put(pulling)
	server.Put(kubeletEvent("runtime-b", "Other", begun().Add(1)))
	scheduled := kubeletEvent("runtime-a", "Scheduled", begun().Add(2))
	scheduled.Source.Component = "default-scheduler"
	server.Put(scheduled)

	events := h.runEvents(server.URL(), 0)
	h.until(true, "idle")
	events.Watch(watchOf("a"))
	events.Watch(watchOf("a"))
	if got := h.nextEvent("Pulling", false); got.UID != "a" || got.NamedAt != begun() {
		t.Errorf("saw %+v", got)
	}
	h.until(true, "watching")

	h.clock.advance(catchUp)
	server.Put(kubeletEvent("runtime-a", "Pulled", h.clock.Now()))
	h.nextEvent("Pulled", true)
	h.clock.advance(time.Minute)
	repeated := pulling.DeepCopy()
	repeated.Count, repeated.LastTimestamp = 2, metav1.NewTime(h.clock.Now().Truncate(time.Second))
	server.Put(repeated)
	if got := h.nextEvent("Pulling", true); got.Count != 2 || got.NamedAt != begun() {
		t.Errorf("saw %+v", got)
	}
	server.Delete(pulling) // its time to live is over
	server.Put(kubeletEvent("runtime-a", "Late", h.clock.Now().Add(-time.Minute)))
	h.nextEvent("Late", false)
	stats := EventsStats{Open: 1, Opened: 1, OpenFor: catchUp + time.Minute, Received: 4}
	if got := events.Stats(); got != stats {
		t.Errorf("stats %+v, want %+v", got, stats)
	}
	want := "watch /api/v1/namespaces/ns/events involvedObject.uid=runtime-a,source=kubelet"
	if got := server.Requests(); len(got) != 1 || got[0] != want {
		t.Errorf("asked %q, want %q once", got, want)
	}

	events.Unwatch("a")
	events.Unwatch("a")
	events.Unwatch("never wanted")
	eventually(t, "closed", func() bool { return server.Watches() == 0 && events.Stats().Open == 0 })
	h.nothing()
}

func TestEventsReconnect(t *testing.T) {
	t.Parallel()
	server := podwatchtest.Start(t)
	server.Put(kubeletEvent("runtime-a", "One", begun()))
	h := newHarness(t)
	events := h.runEvents(server.URL(), 0)
	events.Watch(watchOf("a"))
	h.nextEvent("One", false)

	server.Refuse(http.StatusInternalServerError, metav1.StatusReasonInternalError, "no etcd")
	server.BreakWatches()
	h.until(false, "no etcd")
	h.clock.advance(time.Minute)
	server.Put(kubeletEvent("runtime-a", "Two", h.clock.Now()))
	server.Heal()
	h.nextEvent("Two", false) // One is not told again, and Two came with the burst
	h.until(true, "watching")

	server.Refuse(http.StatusGone, metav1.StatusReasonExpired, "compacted")
	server.BreakWatches()
	h.until(false, "compacted")
	server.Heal()
	h.until(true, "watching")
	h.nothing()
}

func TestEventsStartBeforeTheServer(t *testing.T) {
	t.Parallel()
	server := podwatchtest.Start(t)
	server.Refuse(http.StatusForbidden, metav1.StatusReasonForbidden, "events is forbidden")
	h := newHarness(t)
	events := NewEvents(EventsConfig{Report: h.report})
	events.Watch(watchOf("a")) // before Run
	if got := events.Stats(); got != (EventsStats{Waiting: 1}) {
		t.Errorf("stats %+v", got)
	}
	events.Unwatch("a")
	if got := events.Stats(); got != (EventsStats{}) {
		t.Errorf("stats %+v", got)
	}
	events = h.runEvents(server.URL(), 0)
	events.Watch(watchOf("b"))
	h.until(false, "events is forbidden")
}

// TestEventsLimit has the pods in two namespaces, in which they are too few to share a watch.
func TestEventsLimit(t *testing.T) {
	t.Parallel()
	server := podwatchtest.Start(t)
	namespaces := map[string]string{"a": "ns", "b": "ns", "c": "other", "d": "other", "e": "other"}
	for _, uid := range strings.Split("abcde", "") {
		e := kubeletEvent("runtime-"+uid, "Of-"+uid, begun())
		e.Name, e.Namespace, e.InvolvedObject.Namespace = uid, namespaces[uid], namespaces[uid]
		server.Put(e)
	}
	h := newHarness(t)
	events := h.runEvents(server.URL(), 2)
	for _, uid := range strings.Split("abcde", "") {
		w := watchOf(uid)
		w.Namespace = namespaces[uid]
		events.Watch(w)
	}
	seen := map[string]bool{h.next().PodUID(): true, h.next().PodUID(): true}
	if !seen["a"] || !seen["b"] {
		t.Errorf("first saw %v, want a and b", seen)
	}
	if got := events.Stats(); got.Open != 2 || got.Waiting != 3 {
		t.Errorf("stats %+v", got)
	}
	events.Unwatch("d") // out of line
	events.Unwatch("a")
	h.nextEvent("Of-c", false)
	events.Unwatch("b")
	h.nextEvent("Of-e", false)
	if got := events.Stats(); got.Open != 2 || got.Waiting != 0 {
		t.Errorf("stats %+v", got)
	}
}

// TestEventsTakeTurns breaks the watches instead of waiting for their turn to be over.
func TestEventsTakeTurns(t *testing.T) {
	t.Parallel()
	server := podwatchtest.Start(t)
	for i := range 3 {
		e := kubeletEvent(fmt.Sprintf("runtime-%d", i), "E", begun())
		e.Name = fmt.Sprint(i)
		server.Put(e)
	}
	h := newHarness(t)
	events := h.runEvents(server.URL(), 1)
	for i := range 3 {
		events.Watch(watchOf(fmt.Sprint(i)))
	}
	for i := range 3 {
		if got := h.nextEvent("E", false); got.UID != fmt.Sprint(i) {
			t.Errorf("turn %d is of %s", i, got.UID)
		}
		server.BreakWatches()
	}
	// Round again: what was missed between two turns is told in the next.
	again := kubeletEvent("runtime-0", "Missed", begun().Add(time.Second))
	server.Put(again)
	h.nextEvent("Missed", false)
}

func TestEventsStopWhileTheServerHangs(t *testing.T) {
	t.Parallel()
	server := podwatchtest.Start(t)
	server.Hang()
	h := newHarness(t)
	events := h.runEvents(server.URL(), 0)
	events.Watch(watchOf("a"))
	eventually(t, "asked", func() bool { return len(server.Requests()) == 1 })
	events.Unwatch("a")
	eventually(t, "closed", func() bool { return events.Stats().Open == 0 })
	events.Watch(watchOf("b"))
	eventually(t, "asked", func() bool { return len(server.Requests()) == 2 })
	stopped := time.Now()
	h.stop()
	<-h.finished
	if took := time.Since(stopped); took > time.Second {
		t.Errorf("took %v to stop", took)
	}
}

func TestAnEventWithoutAName(t *testing.T) {
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
