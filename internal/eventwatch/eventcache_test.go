package eventwatch

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/internal/untrusted"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func watchIn(namespace, uid string) timeline.EventWatch {
	return timeline.EventWatch{UID: uid, InvolvedUID: uid, Namespace: namespace, Name: "pod-" + uid}
}

func keyBy(name, version string) eventKey {
	return keyOf(&corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}})
}

func TestMemory(t *testing.T) {
	m := newEventCache(3)
	of := func(uid string) []pastEvent { return m.eventsOf(watchIn("ns", uid)) }
	forgot := func(uid string) bool { return m.mayLackEvents(watchIn("ns", uid)) }
	add := func(uid, name, version string) {
		m.add(involvedOf(watchIn("ns", uid)), keyBy(name, version), timeline.EventSeen{Reason: version})
	}
	add("a", "first", "1")
	add("b", "first", "2")
	add("a", "second", "3")
	add("a", "first", "4") // a new version of an Event replaces the earlier version
	if past := of("a"); len(past) != 2 || past[0].seen.Reason != "4" || past[1].seen.Reason != "3" || m.events != 3 {
		t.Errorf("remembers %+v", past)
	}
	add("c", "first", "5") // b is now the pod with the oldest latest Event
	if !forgot("b") || forgot("a") || forgot("c") || forgot("never seen") || len(of("b")) != 0 {
		t.Errorf("remembers %+v", m)
	}
	add("b", "second", "6") // the cache keeps no Events of a forgotten pod
	if len(of("b")) != 0 || m.events != 3 {
		t.Errorf("remembers %+v", m)
	}
	for i := range 5 {
		add("d", fmt.Sprint(i), "7") // exceeds the limit
	}
	if !forgot("a") || !forgot("c") || !forgot("d") || m.events != 0 || m.bytes != 0 {
		t.Errorf("remembers %+v", m)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	m := newEventCache(maxRemembered)
	long := timeline.EventSeen{Message: strings.Repeat("m", untrusted.MaxMessage)}
	name := strings.Repeat("n", untrusted.MaxName)
	in := func(pod int) string { return fmt.Sprint("ns-", pod%2) }
	uid := func(pod int) string { return fmt.Sprintf("%0*d", untrusted.MaxUID, pod) }
	add := func(namespace string, pod, event int) {
		m.add(involved{namespace, name, uid(pod)}, keyBy(fmt.Sprint(event), "1"), long)
	}
	forgot := func(namespace string, pod int) bool {
		return m.mayLackEvents(timeline.EventWatch{InvolvedUID: uid(pod), Namespace: namespace, Name: name})
	}
	for pod := range maxForgotten {
		for event := range 10 {
			add(in(pod), pod, event)
		}
		m.check(t)
	}
	if forgot("ns-0", maxForgotten) || forgot("ns-1", maxForgotten-1) || !forgot("ns-0", 0) {
		t.Error("an evicted pod counts as known")
	}
	for pod := range maxForgotten {
		add("ns-1", maxForgotten+pod, 0)
	}
	m.check(t)
	if forgot("ns-0", 2*maxForgotten) || !forgot("ns-1", 2*maxForgotten) {
		t.Error("not exactly the namespace with too many evictions is unknown")
	}
}

// check compares the counters of an eventCache with its contents.
func (m *eventCache) check(t *testing.T) {
	t.Helper()
	events, bytes, forgotten := 0, 0, 0
	for _, s := range m.namespaces {
		forgotten += len(s.forgotten)
		for pod, past := range s.pods {
			bytes += pod.size()
			events += len(past.events)
			for _, event := range past.events {
				bytes += event.size()
			}
		}
	}
	if m.events != events || m.bytes != bytes || m.forgotten != forgotten {
		t.Fatalf("counters: %d Events, %d bytes, %d forgotten; actual: %d, %d, %d",
			m.events, m.bytes, m.forgotten, events, bytes, forgotten)
	}
	if events > maxRemembered || bytes > maxRememberedBytes || forgotten > maxForgotten ||
		len(m.namespaces) > maxNamespaces {
		t.Fatalf("over a limit: %d Events, %d bytes, %d forgotten pods, %d namespaces", events, bytes, forgotten,
			len(m.namespaces))
	}
}

func TestMemoryOfManyNamespaces(t *testing.T) {
	m := newEventCache(maxRemembered)
	for n := range 2 * maxNamespaces {
		w := watchIn(fmt.Sprint("ns-", n), "a")
		m.add(involvedOf(w), keyBy("e", "1"), timeline.EventSeen{})
		m.check(t)
	}
	last := watchIn(fmt.Sprint("ns-", 2*maxNamespaces-1), "a")
	if !m.namespacesMissing || !m.mayLackEvents(last) || m.mayLackEvents(watchIn("ns-0", "b")) {
		t.Error("evicted namespaces count as known")
	}
}
