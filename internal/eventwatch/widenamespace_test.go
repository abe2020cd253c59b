package eventwatch

import (
	"slices"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/kubeclient"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// widen requests the Events of pods and makes their namespace wide.
func (b *bubble) widen(uids string) {
	const sample = 256
	b.events.wideSample = sample
	b.arrive("ns", uids)()
	b.sleep(5 * time.Second)
	b.fill("ns", sample)
	b.sleep(time.Second)
	if got := statsOf(b.events); got.Unshared != 1 || got.Open != maxAlone {
		b.t.Fatalf("stats %+v, want %d watches on single pods", got, maxAlone)
	}
}

// turns returns the pods for which the agent reported the observation, in order.
func (b *bubble) turns(observation string) (uids []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, o := range b.observed {
		if what(o) == observation {
			uids = append(uids, o.PodUID())
		}
	}
	return uids
}

// TestPodsOfWideNamespaceTakeTurns uses pods that need Events for a long time. Each pod must get a watch, in the order
// of the requests. After its turn, a pod must not get a second watch, because all slots are in use.
func TestPodsOfWideNamespaceTakeTurns(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		const first, later = "abcdef", "ghij"
		b.widen(first)
		b.take()
		for _, uid := range later {
			b.request("ns", string(uid), time.Now())
		}
		before := statsOf(b.events).Opened
		most := 0
		for range 3 * 600 {
			most = max(most, statsOf(b.events).Open)
			b.sleep(100 * time.Millisecond)
		}
		if most != maxAlone {
			t.Errorf("%d watches were open, want %d", most, maxAlone)
		}
		waited := b.turns("waiting")
		var served []string
		for _, uid := range b.turns("watched") {
			if slices.Contains([]string{"g", "h", "i", "j"}, uid) {
				served = append(served, uid)
			}
		}
		if want := []string{"g", "h", "i", "j"}; !slices.Equal(served, want) {
			t.Errorf("the pods %v were watched in this order, want %v", served, want)
		}
		for _, uid := range later {
			if !slices.Contains(waited, string(uid)) {
				t.Errorf("no observation reports that pod %c waited, only %v", uid, waited)
			}
		}
		if got := statsOf(b.events); got.Opened-before != uint64(len(first)-maxAlone+len(later)) || got.Waiting != 6 {
			t.Errorf("stats %+v, want one watch for each pod", got)
		}
	})
}

// TestWideNamespaceEndsWithoutBurst waits until a wide namespace can have a shared watch again (wideFor). The pods that
// wait must get a shared watch, without a new pod, and never more than maxAlone watches of single pods.
func TestWideNamespaceEndsWithoutBurst(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		const uids = "abcdefghijklmnop"
		b.widen(uids)
		most := 0
		for range 12 * int(wideFor/time.Minute) * 10 {
			b.sleep(time.Minute / 100)
			b.events.refresh() // like a request for another pod
			most = max(most, statsOf(b.events).Open)
		}
		if most > maxAlone+1 {
			t.Errorf("%d watches were open, want at most %d", most, maxAlone+1)
		}
		if got := statsOf(b.events); got.Open != 1 || got.Waiting != 0 {
			t.Errorf("stats %+v, want one shared watch", got)
		}
		b.put("ns", uids, "Later")
		if got := b.counts(uids)["Later"]; got != len(uids) {
			t.Errorf("%d pods have the Event, want %d", got, len(uids))
		}
	})
}

// TestLongWaitIsReportedOnce uses one slot for pods of two namespaces.
func TestLongWaitIsReportedOnce(t *testing.T) {
	inBubble(t, Config{Limit: 1}, func(b *bubble) {
		b.server.Hang() // the first watch keeps its slot
		b.watch("ns", "a")
		b.watch("other", "x")
		b.sleep(unservedAfter - time.Nanosecond)
		b.expect("x")
		b.sleep(time.Nanosecond)
		waits := lastOf[timeline.EventsLost](b, "x")
		if waits.Order == 0 {
			t.Errorf("%+v has no order", waits)
		}
		b.expect("x", "waiting")
		b.events.refresh()
		b.sleep(2 * unservedAfter)
		b.events.refresh()
		b.expect("x")
		b.unwatch("a")
		b.server.Heal()
		b.sleep(time.Minute)
		if got := lastOf[timeline.EventsWatched](b, "x"); got.OpenedAt.IsZero() || got.Order <= waits.Order {
			t.Errorf("the pod waits: %+v, then is watched: %+v", waits, got)
		}
		b.unwatch("x")
		b.sleep(kubeclient.ProvenAfter)
	})
}
