package eventwatch

import (
	"fmt"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/kubeclient"
	"github.com/podlapse/podlapse/pkg/timeline"
)

const requestForB = "watch /api/v1/namespaces/ns/events involvedObject.uid=runtime-b,source=kubelet"

// TestSecondPodSharesWatch uses a pod with its own watch. A shared watch must replace this watch when the second pod
// arrives, and must serve the third pod. No Event is lost or observed twice.
func TestSecondPodSharesWatch(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.arrive("ns", "a")()
		b.put("ns", "ab", "Before")
		b.sleep(10 * time.Second)
		b.expect("a", "Before", "watched")
		request := b.arrive("ns", "b")
		b.put("ns", "ab", "Between")
		request()
		b.put("ns", "ab", "During")
		b.sleep(kubeclient.ProvenAfter)
		if got := b.counts("a"); got["lost"] != 0 || got["watched"] != 0 || got["Between"] != 1 || got["During"] != 1 {
			t.Errorf("the first pod observed %v, want each Event once and no loss", got)
		}
		if got := b.counts("b"); got["watched"] != 1 || got["Between"] != 1 || got["During"] != 1 {
			t.Errorf("the second pod observed %v, want each Event once", got)
		}
		b.take()
		b.arrive("ns", "c")()
		b.put("ns", "abc", "After")
		if got := b.counts("abc"); got["After"] != 3 || got["watched"] != 1 {
			t.Errorf("observed %v, want an Event of each pod, and the third pod watched", got)
		}
		got := b.requests()
		if got[requestForA] != 1 || got[requestForAll] != 1 || len(got) != 2 || b.server.Watches() != 1 {
			t.Errorf("requests %v, %d watches are open, want only the shared watch", got, b.server.Watches())
		}
	})
}

// TestSecondPodStopsUnopenedWatch requests a second pod while the first pod's own watch waits before it opens. The only
// watch of the namespace must be the shared watch, and it must get the slot of the first pod's watch.
func TestSecondPodStopsUnopenedWatch(t *testing.T) {
	for _, limit := range []int{1, DefaultWatches} {
		t.Run(fmt.Sprint("limit ", limit), func(t *testing.T) {
			inBubble(t, Config{Limit: limit}, func(b *bubble) {
				b.events.jitter = maxJitter
				b.put("ns", "ab", "Old")
				b.watch("ns", "a")
				b.watch("other", "x")
				b.watch("ns", "b")
				b.sleep(maxJitter + kubeclient.ProvenAfter)
				if got := b.counts("ab"); got["Old"] != 2 || got["watched"] != 2 {
					t.Errorf("observed %v, want the Event of both pods, and both pods watched", got)
				}
				if got := b.requests(); got[requestForAll] != 1 || got[requestForA]+got[requestForB] != 0 {
					t.Errorf("requests %v, want only the shared watch", got)
				}
			})
		})
	}
}

// TestSteadyStartsOpenFewWatches starts two pods per second for a minute. Each pod needs Events for two seconds.
func TestSteadyStartsOpenFewWatches(t *testing.T) {
	const pods, interval = 120, 500 * time.Millisecond
	inBubble(t, Config{}, func(b *bubble) {
		request := func(tick int) timeline.EventWatch {
			uid := fmt.Sprint("pod-", tick)
			return timeline.EventWatch{UID: uid, InvolvedUID: "runtime-" + uid, Namespace: "ns", Name: "pod",
				ArrivedAt: time.Now()}
		}
		for tick := range pods + 4 {
			if tick < pods {
				b.events.PodStarting()
				b.events.Watch(request(tick))
			}
			if tick >= 2 {
				b.server.Put(b.event("ns", fmt.Sprint("pod-", tick-2), "Pulled"))
			}
			if tick >= 4 {
				b.events.Unwatch(fmt.Sprint("pod-", tick-4))
			}
			b.sleep(interval)
		}
		b.mu.Lock()
		seen := 0
		for _, o := range b.observed {
			if _, ok := o.(timeline.EventSeen); ok {
				seen++
			}
		}
		b.mu.Unlock()
		if got := statsOf(b.events); got.Opened != 2 || got.Starts != [3]uint64{2, 0, 0} || seen != pods {
			t.Errorf("observed %d of %d Events, stats %+v; want one watch of the first pod and one shared watch", seen,
				pods, got)
		}
	})
}

// TestCrowdedNamespaceIsNotSharedByFew uses two pods in a namespace with many Events about pods of other nodes. Their
// own watches must replace the shared watch, and no Event may be lost. The shared watch must return for a fifth pod,
// and for two pods when the namespace no longer counts as crowded.
func TestCrowdedNamespaceIsNotSharedByFew(t *testing.T) {
	for name, settle := range map[string]time.Duration{"after the existing Events": 5 * time.Second, "at once": 0} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{}, func(b *bubble) {
				b.events.crowdedSample = 64
				b.arrive("ns", "ab")()
				b.sleep(settle)
				b.put("ns", "ab", "Before")
				b.fill("ns", 63)
				b.put("ns", "ab", "During")
				b.fill("ns", 63)
				b.sleep(5 * time.Second)
				b.put("ns", "ab", "After")
				for _, reason := range []string{"Before", "During", "After"} {
					if got := b.counts("ab")[reason]; got != 2 {
						t.Errorf("%s was observed %d times, want once for each pod", reason, got)
					}
				}
				if got := b.counts("ab"); got["watched"] != got["lost"]+2 {
					t.Errorf("observed %v, want both pods watched", got)
				}
				if b.sinceOf("a").IsZero() || b.sinceOf("a") != b.sinceOf("b") {
					t.Errorf("no Event is missing since %v and %v, want the sample", b.sinceOf("a"), b.sinceOf("b"))
				}
				if got := statsOf(b.events); got.Unshared != 1 || got.Open != 2 || got.Starts[1]+got.Starts[2] > 0 {
					t.Errorf("stats %+v, want two watches on single pods", got)
				}
				b.arrive("ns", "cd")()
				b.sleep(5 * time.Second)
				if got := statsOf(b.events); got.Open != maxAlone {
					t.Errorf("stats %+v, want %d watches on single pods", got, maxAlone)
				}
				b.arrive("ns", "e")()
				b.sleep(5 * time.Second)
				b.fill("ns", 64) // the namespace is still crowded, but five pods share the watch
				b.sleep(5 * time.Second)
				if got := statsOf(b.events); got.Open != 1 || got.Unshared != 1 {
					t.Errorf("stats %+v, want one shared watch of five pods", got)
				}
				b.unwatch("cde")
				b.fill("ns", 64)
				b.sleep(5 * time.Second)
				if got := statsOf(b.events); got.Open != 2 || got.Unshared != 2 {
					t.Errorf("stats %+v, want two watches on single pods again", got)
				}
				b.sleep(crowdedFor)
				if got := statsOf(b.events); got.Open != 1 {
					t.Errorf("stats %+v, want one shared watch after the 10 minutes", got)
				}
				b.take()
				b.put("ns", "ab", "Last")
				b.expect("ab", "Last")
			})
		})
	}
}

// TestExistingEventsMakeNoCrowd opens shared watches that first deliver many Events from a long time. The shared watch
// must stay.
func TestExistingEventsMakeNoCrowd(t *testing.T) {
	for name, open := range map[string]func(*bubble){
		"of a small namespace": func(b *bubble) {
			b.fill("ns", 200)
			b.watch("ns", "ab")
		},
		"since an interruption": func(b *bubble) {
			b.arrive("ns", "ab")()
			b.sleep(time.Minute)
			b.server.BreakWatches()
			b.fill("ns", 100)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{}, func(b *bubble) {
				b.events.crowdedSample = 64
				open(b)
				b.sleep(10 * time.Second)
				if got := statsOf(b.events); got.Unshared != 0 || got.Open != 1 || got.Received < 100 {
					t.Errorf("stats %+v, want a shared watch with the earlier Events", got)
				}
				b.fill("ns", 128) // a full count with many Events in a short time
				b.sleep(10 * time.Second)
				if got := statsOf(b.events); got.Unshared != 1 || got.Open != 2 {
					t.Errorf("stats %+v, want two watches on single pods", got)
				}
			})
		})
	}
}

// TestUnusedWatchOfCrowdedNamespaceCloses ends all requests while a namespace has many Events. The shared watch must
// close before the end of its linger.
func TestUnusedWatchOfCrowdedNamespaceCloses(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.events.crowdedSample = 64
		b.arrive("ns", "ab")()
		b.sleep(linger)
		b.unwatch("ab")
		b.fill("ns", 63)
		if got := statsOf(b.events); got.Open != 1 {
			t.Errorf("stats %+v, want the shared watch to wait for further pods", got)
		}
		b.fill("ns", 1)
		if got := statsOf(b.events); got.Open != 0 || got.Unshared != 0 || len(b.events.shared) != 0 {
			t.Errorf("stats %+v, want no watch", got)
		}
		b.arrive("ns", "ab")()
		b.sleep(kubeclient.ProvenAfter)
		got := b.requests()
		if got[requestForA] != 1 || got[requestForB] != 1 || got[requestForAll] != 1 {
			t.Errorf("requests %v, want each pod with its own watch", got)
		}
	})
}
