package eventwatch

import (
	"fmt"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/kubeclient"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestBusyNamespace starts 20 pods per second in a namespace that already has thousands of Events. The API server is
// overloaded: the agent's wait for existing Events ends before all of them have arrived. Each pod has 14 Events. The
// agent must observe all Events of the pods and receive few other Events.
func TestBusyNamespace(t *testing.T) {
	const pods, perPod = 200, 14
	inBubble(t, Config{}, func(b *bubble) {
		b.fill("ns", 3000)
		b.server.SlowHistory(20 * time.Millisecond)
		type open struct{ uid string }
		var starting []open
		started, used := 0, 0
		for tick := range pods + perPod*4 {
			if tick < pods {
				uid := fmt.Sprint("pod-", tick)
				b.events.PodStarting()
				b.events.Watch(timeline.EventWatch{
					UID: uid, InvolvedUID: "runtime-" + uid, Namespace: "ns", Name: "pod",
					ArrivedAt: time.Now()})
				starting = append(starting, open{uid})
				started++
			}
			for i, p := range starting {
				if age := tick - i; age%4 == 3 && age < perPod*4 {
					b.server.Put(b.event("ns", p.uid, fmt.Sprint("E", age/4)))
				}
				if tick-i == perPod*4+40 {
					b.events.Unwatch(p.uid)
				}
			}
			b.sleep(50 * time.Millisecond)
		}
		b.sleep(20 * time.Second)
		b.mu.Lock()
		watched := map[string]bool{}
		for _, o := range b.observed {
			switch o.(type) {
			case timeline.EventSeen:
				used++
			case timeline.EventsWatched:
				watched[o.PodUID()] = true
			}
		}
		b.mu.Unlock()
		got := statsOf(b.events)
		t.Logf("%d of %d Events observed, %d pods watched, %+v", used, started*perPod, len(watched), got)
		if used != started*perPod || len(watched) != started {
			t.Errorf("observed %d of %d Events, and reported %d of %d pods as watched", used, started*perPod,
				len(watched), started)
		}
		if most := uint64(2 * started * perPod); got.Received > most || got.Starts[1]+got.Starts[2]+got.Unserved > 0 {
			t.Errorf("stats %+v, want at most %d Events received and no history", got, most)
		}
	})
}

// TestWideNamespaceIsNotShared uses six pods in a namespace with many Events about pods of other nodes. The agent must
// stop the shared watch, and must not lose an Event.
func TestWideNamespaceIsNotShared(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		const uids, sample = "abcdef", 256
		b.events.wideSample = sample
		b.arrive("ns", uids)()
		b.put("ns", uids, "First")
		b.sleep(5 * time.Second)
		since := b.sinceOf("a")
		b.expect(uids, "First", "watched")
		b.fill("ns", 2*sample)
		b.sleep(time.Minute)
		b.take()
		received := statsOf(b.events).Received
		b.fill("ns", 2*sample)
		b.put("ns", uids, "Second")
		b.sleep(time.Second)
		if got := b.counts(uids); got["Second"] != maxAlone {
			t.Errorf("observed %v, want one Event of each of %d pods with a watch", got, maxAlone)
		}
		if got := statsOf(b.events); got.Waiting != len(uids)-maxAlone || got.Open != maxAlone || got.Unshared != 1 {
			t.Errorf("stats %+v, want %d watches on single pods", got, maxAlone)
		}
		for _, uid := range uids {
			if b.last(string(uid)).Reason == "Second" {
				b.unwatch(string(uid))
			}
		}
		b.sleep(time.Minute)
		if got := b.counts(uids); got["Second"] != len(uids) {
			t.Errorf("observed %v, want one Event of each of %d pods", got, len(uids))
		}
		for _, uid := range uids {
			// If the pod's own watch opened when the namespace became wide, the pod has no later EventsWatched.
			if got := b.sinceOf(string(uid)); !got.IsZero() && got != since {
				t.Errorf("%c: no Event is missing since %v, want %v as before", uid, got, since)
			}
		}
		if got := statsOf(b.events); got.Received != received+uint64(len(uids)) || got.Starts[1]+got.Starts[2] > 0 {
			t.Errorf("received %d Events before, then %+v", received, got)
		}
		b.unwatch(uids)
		b.sleep(wideFor)
		b.arrive("ns", "ghijkl")()
		b.sleep(kubeclient.ProvenAfter)
		if got := statsOf(b.events); got.Open != 1 {
			t.Errorf("stats %+v, want one shared watch again", got)
		}
	})
}

// TestUnservedRequestsAreCounted uses an API server that does not respond before the request ends.
func TestUnservedRequestsAreCounted(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.watch("ns", "a")
		b.sleep(time.Minute)
		b.unwatch("a")
		b.server.Hang()
		b.watch("ns", "b")
		b.sleep(unservedAfter)
		b.unwatch("b")
		if got := statsOf(b.events).Unserved; got != 0 {
			t.Errorf("%d requests count as unserved, want 0: one was served, and one ended early", got)
		}
		b.watch("ns", "c")
		b.sleep(unservedAfter + time.Second)
		b.unwatch("c")
		if got := statsOf(b.events).Unserved; got != 1 {
			t.Errorf("%d requests count as unserved, want 1", got)
		}
		b.server.Heal()
	})
}

// TestRequestsWithGapCanBeUnserved uses a namespace with many Events. The watch delivers no earlier Event of the pod.
func TestRequestsWithGapCanBeUnserved(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.fill("ns", 2*maxHistory)
		b.watch("ns", "a")
		b.sleep(time.Minute)
		b.unwatch("a")
		if got := statsOf(b.events).Unserved; got != 1 {
			t.Errorf("%d requests count as unserved, want 1", got)
		}
	})
}
