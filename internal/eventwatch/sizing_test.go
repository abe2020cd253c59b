package eventwatch

import (
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/kubeclient"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestSlowNamespaceDelaysOthersBriefly uses a namespace for which the API server does not respond to lists. The agent
// must watch pods of other namespaces soon, and must not wait for the response again.
func TestSlowNamespaceDelaysOthersBriefly(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.put("ns", "x", "Old")
		b.server.HangLists("slow")
		b.mark(b.events.wide, "slow") // each pod has its own watch
		b.watch("slow", "ab")
		b.watch("ns", "x")
		b.sleep(sampleInterval + kubeclient.ProvenAfter)
		if got := b.counts("x"); got["Old"] != 1 || got["watched"] != 1 {
			t.Errorf("observed %v, want the Event and a complete watch", got)
		}
		b.sleep(time.Minute / 2)
		for _, uid := range []string{"a", "b"} {
			if got := lastOf[timeline.EventsWatched](b, uid); got.Since.IsZero() || !got.Limited {
				t.Errorf("%s: observed %+v, want a watch that reports the missing Events", uid, got)
			}
		}
		lists := func() (count int) {
			for _, request := range b.server.Requests() {
				if request == "list /api/v1/namespaces/slow/events " {
					count++
				}
			}
			return count
		}
		if got := lists(); got != 1 {
			t.Errorf("requested %d lists of the slow namespace, want 1", got)
		}
		b.server.Heal()
		b.sleep(largeFor)
		b.watch("slow", "c")
		b.sleep(kubeclient.ProvenAfter)
		if got := lastOf[timeline.EventsWatched](b, "c"); got.OpenedAt.IsZero() || got.Limited {
			t.Errorf("observed %+v, want a complete watch, because the namespace is small and no longer slow", got)
		}
	})
}

// TestSilentServerIsNoLargeNamespace uses an API server that responds to no request for some time. Afterwards, the
// agent must read the history of the small namespace.
func TestSilentServerIsNoLargeNamespace(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.put("ns", "a", "Old")
		b.server.Hang()
		b.watch("ns", "a")
		b.sleep(20 * time.Second)
		b.server.Heal()
		b.sleep(time.Minute)
		b.expect("a", "Old", "watched")
	})
}
