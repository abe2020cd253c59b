package eventwatch

import (
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/internal/kubeclient"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestLossesAreReported ends a watch of one pod and a shared watch in every way except Unwatch.
func TestLossesAreReported(t *testing.T) {
	for name, end := range map[string]func(*bubble){
		"the connection closes":        func(b *bubble) { b.server.BreakWatches() },
		"the resource version expires": func(b *bubble) { b.server.ExpireWatches() },
		"the server is unreachable for a while": func(b *bubble) {
			b.server.Refuse(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "no etcd")
			b.server.BreakWatches()
			b.sleep(time.Minute)
			b.server.Heal()
		},
		"the server is unreachable and then responds with 410": func(b *bubble) {
			b.server.Refuse(http.StatusGone, metav1.StatusReasonExpired, "compacted")
			b.server.BreakWatches()
			b.sleep(time.Minute)
			b.server.Heal()
		},
		"the server hangs": func(b *bubble) {
			b.server.Hang()
			b.server.BreakWatches()
			b.sleep(time.Minute)
			b.server.Heal()
		},
	} {
		for _, uids := range []string{"a", "abcde"} {
			t.Run(fmt.Sprintf("%s, watched by %d", name, len(uids)), func(t *testing.T) {
				inBubble(t, Config{}, func(b *bubble) {
					b.watch("ns", uids)
					b.sleep(time.Minute)
					b.expect(uids, "watched")
					ended := time.Now()
					end(b)
					b.put("ns", uids, "Meanwhile")
					b.sleep(time.Minute)
					if since := b.watchedSince("a"); !since.After(ended) {
						t.Errorf("watched since %v, but the watch ended at %v", since, ended)
					}
					b.expect(uids, "lost", "Meanwhile", "watched")
					b.sleep(time.Hour)
					b.unwatch(uids)
					b.sleep(time.Hour)
					b.expect(uids) // the watch ends, because no pod needs the watch
				})
			})
		}
	}
}

// TestLossesAreInOrderAfterClockIsSetBack sets the agent's clock back while a watch is open, and then breaks the watch.
func TestLossesAreInOrderAfterClockIsSetBack(t *testing.T) {
	var back atomic.Int64
	inBubble(t, Config{Now: func() time.Time { return time.Now().Add(-time.Duration(back.Load())) }}, func(b *bubble) {
		b.watch("ns", "a")
		b.sleep(time.Minute)
		back.Store(int64(time.Hour))
		b.server.BreakWatches()
		b.sleep(time.Minute)
		var orders []int64
		for _, o := range b.observed {
			switch o := o.(type) {
			case timeline.EventsWatched:
				orders = append(orders, o.Order)
			case timeline.EventsLost:
				orders = append(orders, o.Order)
			}
		}
		if len(orders) != 3 || !slices.IsSorted(orders) || orders[0] == 0 || orders[0] == orders[1] {
			t.Errorf("orders %v of watched, lost and watched, want ascending numbers", orders)
		}
		b.expect("a", "watched", "lost", "watched")
	})
}

// TestNoLossBeforeFirstEvent breaks a watch before it counts as open, and stops the source.
func TestNoLossBeforeFirstEvent(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.watch("ns", "a")
		b.sleep(kubeclient.ProvenAfter / 2)
		b.server.BreakWatches()
		b.expect("a")
		b.sleep(time.Minute)
		b.expect("a", "watched")
		b.stop()
		b.expect("a")
	})
}

// TestQueueIsFairToSharedWatches uses one slot for three namespaces: one with many pods, and two with one pod.
func TestQueueIsFairToSharedWatches(t *testing.T) {
	inBubble(t, Config{Limit: 1}, func(b *bubble) {
		b.put("ns", "abcde", "Event")
		b.put("other", "x", "Event")
		b.put("another", "y", "Event")
		b.watch("other", "x")
		b.watch("ns", "abcde")
		b.watch("another", "y")
		if got := statsOf(b.events); got.Waiting != 6 || got.Open != 1 {
			t.Errorf("stats %+v", got)
		}
		b.sleep(10 * leaseTime)
		var turns []string
		for _, o := range b.observed {
			if _, ok := o.(timeline.EventsWatched); !ok {
				continue
			}
			who := o.PodUID()
			if who < "x" {
				who = "ns"
			}
			if len(turns) == 0 || turns[len(turns)-1] != who {
				turns = append(turns, who)
			}
		}
		if want := []string{"x", "ns", "y", "x", "ns", "y"}; !slices.Equal(turns[:min(len(turns), 6)], want) {
			t.Errorf("turns %q, want %q and so on", turns, want)
		}
		for _, uid := range "abcdexy" {
			counts := b.counts(string(uid))
			if counts["Event"] != 1 || counts["lost"] < 3 || counts["watched"]-counts["lost"] > 1 {
				t.Errorf("%c observed %v", uid, counts)
			}
		}
	})
}

// TestSharedWatchReplacesItsOwnWatches fills all slots with pods of one crowded namespace, and then adds a pod to this
// namespace.
func TestSharedWatchReplacesItsOwnWatches(t *testing.T) {
	inBubble(t, Config{Limit: 4}, func(b *bubble) {
		b.mark(b.events.crowded, "ns")
		b.arrive("ns", "abcd")()
		b.sleep(10 * time.Second)
		b.expect("abcd", "watched")
		b.arrive("other", "x")()
		if got := statsOf(b.events); got.Waiting != 1 {
			t.Errorf("stats %+v", got)
		}
		b.arrive("ns", "e")()
		b.sleep(kubeclient.Retries().First)
		b.sleep(kubeclient.ProvenAfter)
		lost := b.counts("abcdex")["lost"]
		if got := statsOf(b.events); lost != 1 || got.Waiting != 0 || got.Open != 2 {
			t.Errorf("%d pods were unwatched for a moment, %+v; want one, and two watches", lost, got)
		}
	})
}

// TestIdleSharedWatchMakesRoom uses an idle shared watch in the only slot. Another pod needs this slot.
func TestIdleSharedWatchMakesRoom(t *testing.T) {
	for name, first := range map[string]bool{"the other pod comes later": false, "the other pod was first": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{Limit: 1}, func(b *bubble) {
				b.watch("ns", "abcde")
				b.sleep(10 * time.Second)
				if first {
					b.watch("other", "x")
				}
				b.unwatch("abcde")
				if !first {
					b.watch("other", "x")
				}
				if got := statsOf(b.events); got.Open != 1 || got.Waiting != 0 {
					t.Errorf("stats %+v", got)
				}
				b.sleep(kubeclient.ProvenAfter)
				if got := b.take(); got[len(got)-1] != "x: watched" {
					t.Errorf("observed %q", got)
				}
			})
		})
	}
}

// TestUnopenedSharedWatchClosesAtOnce uses a shared watch that waits for a slot, and a shared watch that waits for the
// API server's response.
func TestUnopenedSharedWatchClosesAtOnce(t *testing.T) {
	inBubble(t, Config{Limit: 1}, func(b *bubble) {
		b.server.Hang()
		b.watch("other", "x")
		b.watch("ns", "abcde")
		b.unwatch("abcde")
		if got := statsOf(b.events); got.Waiting != 0 || len(b.events.shared) != 0 {
			t.Errorf("stats %+v, shared %v", got, b.events.shared)
		}
		b.unwatch("x")
		b.watch("ns", "abcde")
		b.unwatch("abcde")
		if len(b.events.shared) != 0 || b.events.queue.taken != 0 {
			t.Errorf("%d places in use, shared %v", b.events.queue.taken, b.events.shared)
		}
		b.expect("abcde")
	})
}
