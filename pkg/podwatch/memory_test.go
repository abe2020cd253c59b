package podwatch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestMemory(t *testing.T) {
	m := newMemory(3)
	add := func(uid, name, version string) { m.add(uid, name, version, timeline.EventSeen{Reason: version}) }
	add("a", "first", "1")
	add("b", "first", "2")
	add("a", "second", "3")
	add("a", "first", "4") // changed: only the latest state counts
	if past := m.of("a"); len(past) != 2 || past[0].version != "4" || past[1].version != "3" || m.events != 3 {
		t.Errorf("remembers %+v", past)
	}
	add("c", "first", "5") // b has been silent for longest
	if !m.forgot("b") || m.forgot("a") || m.forgot("c") || m.forgot("never seen") || len(m.of("b")) != 0 {
		t.Errorf("remembers %+v", m)
	}
	add("b", "second", "6") // of no use without the first
	if len(m.of("b")) != 0 || m.events != 3 {
		t.Errorf("remembers %+v", m)
	}
	for i := range 5 {
		add("d", fmt.Sprint(i), "7") // too much for one
	}
	if !m.forgot("a") || !m.forgot("c") || !m.forgot("d") || m.events != 0 || m.bytes != 0 {
		t.Errorf("remembers %+v", m)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	m := newMemory(maxRemembered)
	long := timeline.EventSeen{Message: strings.Repeat("m", maxMessage)}
	for pod := range maxForgotten {
		for name := range 10 {
			m.add(fmt.Sprint(pod), fmt.Sprint(name), "1", long)
		}
		sum := 0
		for _, past := range m.pods {
			for _, event := range past.events {
				sum += event.size()
			}
		}
		if m.bytes != sum || sum > maxRememberedBytes || m.events > maxRemembered {
			t.Fatalf("after %d pods: %d Events, %d bytes, really %d", pod+1, m.events, m.bytes, sum)
		}
	}
	if m.forgot("never seen") || m.forgot(fmt.Sprint(maxForgotten-1)) || !m.forgot("0") {
		t.Error("does not know what it forgot")
	}
	for pod := range maxForgotten {
		m.add("more"+fmt.Sprint(pod), "name", "1", long)
	}
	if !m.forgot("never seen") || len(m.pods)+len(m.forgotten)+m.events+m.bytes != 0 {
		t.Errorf("keeps %d pods and who they were of %d, though it cannot know all", len(m.pods), len(m.forgotten))
	}
}
