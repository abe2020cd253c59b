package eventwatch

import (
	"fmt"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestEveryPodIsWatchedInTime uses 100 namespaces, each with one pod that never gets its image. The agent must watch
// each of these pods, and a pod that arrives later, before the core stops waiting for late Events (eventGrace in
// pkg/timeline).
func TestEveryPodIsWatchedInTime(t *testing.T) {
	const inTime = 15 * time.Second
	inBubble(t, Config{}, func(b *bubble) {
		want := func(name string) {
			b.server.Put(b.event(name, name, "Pulling"))
			b.events.Watch(timeline.EventWatch{UID: name, InvolvedUID: "runtime-" + name, Namespace: name, Name: "pod"})
		}
		observedPods := func() map[string]bool {
			b.mu.Lock()
			defer b.mu.Unlock()
			uids := map[string]bool{}
			for _, o := range b.observed {
				if _, ok := o.(timeline.EventSeen); ok {
					uids[o.PodUID()] = true
				}
			}
			return uids
		}
		for i := range 100 {
			want(fmt.Sprint("hopeless-", i))
		}
		b.sleep(inTime)
		if got := len(observedPods()); got != 100 {
			t.Errorf("%d of 100 pods were watched after %s", got, inTime)
		}
		b.sleep(10 * time.Minute)
		opened := statsOf(b.events).Opened
		want("new")
		b.sleep(inTime / 2)
		if !observedPods()["new"] {
			t.Errorf("a new pod was not watched after %s", inTime/2)
		}
		if most := opened + uint64(inTime/2/leaseTime+2)*DefaultWatches; statsOf(b.events).Opened > most {
			t.Errorf("opened %d watches, at most %d for a new pod", statsOf(b.events).Opened-opened, most-opened)
		}
		if open := statsOf(b.events).Open; open > DefaultWatches {
			t.Errorf("%d watches are open", open)
		}
	})
}
