package eventwatch

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/internal/kubeclient"
)

// watchRequests returns the number of requests for watches so far.
func (b *bubble) watchRequests() (count int) {
	for _, request := range b.server.Requests() {
		if strings.HasPrefix(request, "watch ") {
			count++
		}
	}
	return count
}

// TestRepeatedExpiryBacksOff uses an API server that responds to every watch with status 410, immediately or some
// seconds after it accepted the watch. The lists succeed. The namespace has many Events, so each watch begins at a
// revision.
func TestRepeatedExpiryBacksOff(t *testing.T) {
	for name, after := range map[string]time.Duration{"at once": 0, "late": 2 * kubeclient.ProvenAfter} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{}, func(b *bubble) {
				b.fill("ns", maxHistory+10)
				b.server.ExpireEveryWatch(after)
				b.arrive("ns", "a")()
				b.sleep(5 * time.Minute)
				before := b.watchRequests()
				b.sleep(10 * time.Minute)
				// Each wait is at least half of the maximum.
				most := int(10 * time.Minute / (kubeclient.Retries().Max/2 + after))
				if got := b.watchRequests() - before; got > most || got == 0 {
					t.Errorf("requested %d watches in 10 minutes, want 1 to %d", got, most)
				}
				b.server.Heal()
				b.sleep(time.Minute)
				b.take()
				b.server.BreakWatches()
				b.sleep(kubeclient.Retries().First)
				if got := b.server.Watches(); got != 1 {
					t.Errorf("%d watches are open, want 1: after a success, the next wait is short", got)
				}
			})
		})
	}
}

// TestLateExpiryLosesThePosition uses an API server that accepts a watch and reports after some seconds that the
// revision has expired. The next watch must begin with the history, because the agent can have missed Events.
func TestLateExpiryLosesThePosition(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.arrive("ns", "a")()
		b.sleep(2 * kubeclient.ProvenAfter)
		b.expect("a", "watched")
		b.server.Lose(func(string, metav1.Object) bool { return true })
		b.put("ns", "a", "Missed")
		b.expect("a")
		b.server.Lose(nil)
		b.server.ExpireWatches()
		b.sleep(time.Minute)
		b.expect("a", "lost", "Missed", "watched")
		if got := statsOf(b.events); got.Expired != 1 || got.Starts != [3]uint64{1, 1, 0} {
			t.Errorf("stats %+v, want one expired revision and then the history", got)
		}
	})
}

// TestManyExpiredPositions has ten pods with different positions. All positions have expired when the pods need Events
// again. The pods share a watch, which must not try each position.
func TestManyExpiredPositions(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		const pods = "abcdefghij"
		b.fill("ns", maxHistory+10)
		for _, pod := range pods {
			b.arrive("ns", string(pod))()
			b.put("ns", string(pod), "First")
			b.sleep(2 * kubeclient.ProvenAfter)
			b.unwatch(string(pod))
		}
		b.sleep(time.Minute)
		b.take()
		b.fill("ns", 1)
		b.server.Forget()
		b.watch("ns", pods)
		b.sleep(15 * time.Second)
		b.put("ns", pods, "Second")
		if got := b.counts(pods); got["Second"] != len(pods) || statsOf(b.events).Expired > 3 {
			t.Errorf("observed %v after %d expired revisions, want the second Event of each pod after at most 3", got,
				statsOf(b.events).Expired)
		}
	})
}

// TestExpiryAfterNewerEventKeepsThePosition sends an Event before the error 410. The watch has delivered all Events up
// to this Event, so the next watch continues there.
func TestExpiryAfterNewerEventKeepsThePosition(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.arrive("ns", "a")()
		b.put("ns", "a", "First")
		b.sleep(time.Minute)
		b.server.ExpireWatches()
		b.sleep(time.Minute)
		b.expect("a", "First", "watched", "lost", "watched")
		if got := statsOf(b.events); got.Expired != 0 || got.Starts != [3]uint64{2, 0, 0} {
			t.Errorf("stats %+v, want two watches from a revision", got)
		}
	})
}

// TestHistoryIsReadAgainAfterSlowServer uses an API server that sends no Event for some time. The watch breaks before
// the first Event. The next watch must read the history again.
func TestHistoryIsReadAgainAfterSlowServer(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.put("ns", "a", "Old")
		b.server.SlowHistory(time.Minute)
		b.watch("ns", "a")
		b.sleep(10 * time.Second)
		b.server.SlowHistory(0)
		b.server.BreakWatches()
		b.sleep(2 * time.Minute)
		if got := b.take(); !slices.Contains(got, "a: Old") || got[len(got)-1] != "a: watched" {
			t.Errorf("observed %q, want the Event from the history", got)
		}
	})
}

// TestHistoryIsReadAgainAfterStall breaks a watch that has delivered the first of two existing Events.
func TestHistoryIsReadAgainAfterStall(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.put("ns", "a", "First")
		b.put("ns", "a", "Second")
		b.server.SlowHistory(500 * time.Millisecond) // for the first Event
		b.watch("ns", "a")
		b.sleep(200 * time.Millisecond)
		b.server.SlowHistory(10 * time.Minute) // for the second Event
		b.sleep(46 * time.Second)              // client-go closes a silent connection after 45 s
		if got := b.take(); !slices.Contains(got, "a: First") || slices.Contains(got, "a: Second") {
			t.Fatalf("observed %q, want the first Event only", got)
		}
		b.server.SlowHistory(0)
		b.server.BreakWatches()
		b.sleep(2 * time.Minute)
		if got := b.take(); !slices.Contains(got, "a: Second") || got[len(got)-1] != "a: watched" {
			t.Errorf("observed %q, want the second Event from the history", got)
		}
	})
}

// TestLeavingASharedWatchKeepsOwnWatch replaces a shared watch by watches on single pods while the shared watch reports
// that it covers a pod.
func TestLeavingASharedWatchKeepsOwnWatch(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.server.Refuse(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "no etcd")
		b.arrive("ns", "abcde")()
		b.events.mu.Lock()
		shared, p := b.events.shared["ns"], b.events.requests["a"]
		b.events.mu.Unlock()
		if shared == nil {
			t.Fatal("the pods share no watch")
		}
		b.events.markWide(shared)
		b.events.stopOwnWatch(p, shared)
		b.events.mu.Lock()
		own := p.own
		b.events.mu.Unlock()
		if own == nil {
			t.Error("the pod has neither its own watch nor a shared watch")
		}
		b.server.Heal()
		for range 2 * leaseTime / time.Second { // the pause before the retry is random
			if b.sleep(time.Second); b.counts("a")["watched"] > 0 {
				break
			}
		}
		if got := b.counts("a"); got["watched"] != 1 || got["lost"] != 0 {
			t.Errorf("observed %v, want the pod watched", got)
		}
	})
}
