package eventwatch

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/internal/podwatchtest"
)

// fillFor creates Events about other pods in a namespace, ten times per second. The argument rate is the number of
// Events per second. If the argument most is not zero, the API server holds at most about this number of these Events.
// fillFor returns the Events that the API server still holds.
func (b *bubble) fillFor(d time.Duration, namespace string, rate, most int) (kept []*corev1.Event) {
	const ticks = 10 // per second
	for tick := range int(d.Seconds()) * ticks {
		for i := range rate / ticks {
			kept = append(kept, b.event(namespace, fmt.Sprint("other-", i), "Other"))
			b.server.Put(kept[len(kept)-1])
		}
		for most > 0 && len(kept) > most {
			b.server.Delete(kept[0])
			kept = kept[1:]
		}
		if most > 0 && tick%ticks == 0 {
			most++ // the number of Events is almost constant, but never exactly
		}
		b.sleep(time.Second / ticks)
	}
	return kept
}

func (b *bubble) costly() float64 { return testutil.ToFloat64(b.events.metrics.costly) }

// TestCostlyNamespace creates many Events about pods of other nodes. The agent must close its watch on this namespace,
// report the pods, and open no other watch there until the namespace no longer counts as costly. Watches on other
// namespaces stay open. When the watch opens again, the agent must either read all Events or report what it missed.
func TestCostlyNamespace(t *testing.T) {
	const rate = 100
	for name, c := range map[string]struct {
		uids  string
		older int  // number of Events before the pods arrive
		most  int  // see fillFor
		few   bool // the namespace contains few Events when it no longer counts as costly
	}{
		"one pod":                     {uids: "a"},
		"a shared watch":              {uids: "abc"},
		"a constant number of Events": {uids: "a", older: 15_000, most: 50},
		"few Events afterwards":       {uids: "ab", few: true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{}, func(b *bubble) {
				b.events.crowdedSample = math.MaxInt // the shared watch must not be replaced
				b.events.costlyRate = 3
				b.fill("ns", c.older)
				b.arrive("ns", c.uids)()
				b.put("ns", c.uids, "Before")
				b.watch("other", "x")
				b.sleep(2 * time.Second)
				b.take()
				others := b.fillFor(37*time.Second, "ns", rate, c.most)
				b.expect(c.uids, "lost", "waiting")
				if b.costly() != 1 || b.server.Watches() != 1 {
					t.Errorf("costly %v times, %d watches are open, want 1 and 1", b.costly(), b.server.Watches())
				}
				b.arrive("ns", "n")()
				b.put("ns", "n", "Missed")
				others = append(others, b.fillFor(9*time.Second, "ns", rate, c.most)...)
				b.expect("n", "waiting")
				if c.few {
					for _, e := range others {
						b.server.Delete(e)
					}
				}
				missedAt := time.Now()
				b.sleep(costlyFor - time.Minute)
				b.expect("")
				b.sleep(costlyFor/2 + 2*time.Minute)
				missed := 0 // from few existing Events, the agent reads all
				if c.few {
					missed = 1
				}
				if got := b.counts(c.uids + "n"); got["watched"] != len(c.uids)+1 || got["Missed"] != missed {
					t.Errorf("observed %v, want all pods watched again, and %d missed Events", got, missed)
				}
				for _, uid := range c.uids + "n" {
					if since := b.sinceOf(string(uid)); since.Before(missedAt) != c.few {
						t.Errorf("pod %c: watched since %v, missed an Event before %v", uid, since, missedAt)
					}
				}
				b.unwatch("n")
				if got := statsOf(b.events).Unserved; got != uint64(1-missed) {
					t.Errorf("%d requests are unserved, want %d", got, 1-missed)
				}
			})
		})
	}
}

// TestShortWatchesAreCostly closes each watch before costPeriod has passed. In the first case, the watches overlap. In
// the second case, only one watch is open at a time.
func TestShortWatchesAreCostly(t *testing.T) {
	for name, pods := range map[string]int{"overlapping": 3, "one after the other": 1} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{}, func(b *bubble) {
				b.mark(b.events.crowded, "ns")
				for i := range rune(20) {
					b.arrive("ns", string('A'+i))()
					b.fillFor(3*time.Second, "ns", 300, 0)
					if int(i) >= pods-1 {
						b.unwatch(string('A' + i - rune(pods) + 1))
					}
				}
				if b.costly() != 1 {
					t.Errorf("costly %v times, want 1", b.costly())
				}
			})
		})
	}
}

// TestRefusedCostChecks refuses all lists. The agent must not repeat the requests often.
func TestRefusedCostChecks(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.server.Authorize(func(a podwatchtest.Attempt) bool { return a.Verb == "watch" })
		b.watch("ns", "a")
		b.sleep(10 * time.Minute)
		lists := 0
		for _, request := range b.server.Requests() {
			if strings.HasPrefix(request, "list ") {
				lists++
			}
		}
		if lists < 2 || lists > 12 {
			t.Errorf("%d lists in ten minutes, want about one per minute", lists)
		}
	})
}

// TestBusyNamespaceIsNotCostly checks the cases in which the agent must keep its watch.
func TestBusyNamespaceIsNotCostly(t *testing.T) {
	for name, busy := range map[string]func(*bubble){
		"few changes": func(b *bubble) {
			b.fillFor(5*time.Minute, "ns", 40, 0)
			if slices.ContainsFunc(b.server.Requests(), func(request string) bool {
				return strings.HasPrefix(request, "list /api/v1/namespaces/ns/")
			}) {
				b.t.Error("the agent requested the number of Events, although the whole cluster changes little")
			}
			if got := statsOf(b.events).Samples; got > 8 {
				b.t.Errorf("%d samples in five minutes, want fewer, because the time between checks grows", got)
			}
		},
		"few Events": func(b *bubble) {
			for range 90 {
				b.fill("other", 40)
				b.fillFor(time.Second, "ns", 40, 0)
			}
		},
		"another namespace": func(b *bubble) { b.fillFor(time.Minute, "other", 100, 0) },
		"a short burst": func(b *bubble) {
			b.fillFor(15*time.Second, "ns", 200, 0)
			b.sleep(5 * time.Minute)
		},
		"quiet after a burst": func(b *bubble) {
			b.events.costlyRate = 3
			b.fill("ns", 15_000)
			b.fillFor(time.Minute, "other", 100, 0)
		},
		"many Events are needed": func(b *bubble) {
			b.mark(b.events.crowded, "ns")
			b.request("ns", "bcd", time.Now())
			for range 60 {
				b.fillFor(time.Second, "ns", 90, 0)
				b.put("ns", "ab", "Needed")
				b.fillFor(time.Second, "ns", 90, 0)
				b.put("ns", "cd", "Needed")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{}, func(b *bubble) {
				b.arrive("ns", "a")()
				busy(b)
				b.put("ns", "a", "Last")
				if got := b.counts("a"); b.costly() != 0 || got["lost"]+got["waiting"] != 0 || got["Last"] != 1 {
					t.Errorf("observed %v, want no loss and the last Event", got)
				}
			})
		})
	}
}

// TestFailingCostChecks uses an API server that does not respond to a check, for example because the API server is
// overloaded. Meanwhile, the agent must still receive Events. Later, it must still find the costly namespace.
func TestFailingCostChecks(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.arrive("ns", "a")()
		b.fillFor(15*time.Second, "ns", 200, 0)
		b.server.HangLists("ns")
		b.fillFor(6*time.Second, "ns", 200, 0)
		b.put("ns", "a", "Meanwhile")
		if got := b.counts("a"); got["Meanwhile"] != 1 {
			t.Errorf("observed %v while a check waits, want the new Event", got)
		}
		b.fillFor(6*time.Second, "ns", 200, 0)
		b.server.Heal()
		b.fillFor(45*time.Second, "ns", 200, 0)
		if b.costly() != 1 {
			t.Errorf("costly %v times, want 1", b.costly())
		}
	})
}

// TestSlowCostChecks uses an API server that needs more than sampleInterval for each list of one namespace.
func TestSlowCostChecks(t *testing.T) {
	for name, c := range map[string]struct {
		events   int  // number of Events in the namespace before the lists become slow
		rate     int  // new Events per second
		counted  bool // the agent knows the number of Events before the lists become slow
		costly   float64
		received int // the last Event arrives
	}{
		"many changes":              {rate: 200, costly: 1},
		"few changes":               {rate: 10, received: 1},
		"many changes, few Events":  {rate: 200, counted: true, received: 1},
		"many changes, many Events": {rate: 200, counted: true, events: 2 * maxHistory, costly: 1},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{}, func(b *bubble) {
				b.events.crowdedSample = math.MaxInt // the watch must not be replaced
				b.fill("ns", c.events)
				b.arrive("ns", "a")()
				if c.counted {
					b.fillFor(12*time.Second, "other", c.rate, 0)
				}
				b.server.HangLists("ns")
				busy := "ns"
				if c.counted && c.events == 0 { // the other namespace changes
					busy = "other"
				}
				b.fillFor(90*time.Second, busy, c.rate, 0)
				b.put("ns", "a", "Last")
				if got := b.counts("a"); b.costly() != c.costly || got["Last"] != c.received {
					t.Errorf("costly %v times, observed %v; want costly %v times and the last Event: %d", b.costly(),
						got, c.costly, c.received)
				}
			})
		})
	}
}

// TestCostChecksDelayNoSample checks many namespaces at the same time. The client limits the rate of its lists, but the
// sample for a new pod must not wait. In a large namespace, the agent would miss the first Events of the pod if the
// sample were late.
func TestCostChecksDelayNoSample(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.fill("big", 2*maxHistory)
		for i := range rune(30) {
			b.arrive("ns-"+string('A'+i), string('A'+i))()
		}
		b.fillFor(21*time.Second, "other", 100, 0)
		b.arrive("big", "z")()
		b.put("big", "z", "Pulling")
		b.sleep(10 * time.Second)
		if got := b.counts("z"); got["Pulling"] != 1 {
			t.Errorf("observed %v of the new pod, want its first Event", got)
		}
	})
}

// TestIsolatedStartIsNotChecked closes the only watch before the first check. The agent must send no further request,
// even if the cluster changes many objects.
func TestIsolatedStartIsNotChecked(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.arrive("ns", "a")()
		b.put("ns", "a", "Pulled")
		b.fillFor(3*time.Second, "other", 100, 0)
		b.unwatch("a")
		b.fillFor(4*time.Second, "other", 100, 0) // the watch of a single pod closes at once
		before := len(b.server.Requests())
		b.fillFor(time.Minute, "other", 100, 0)
		if got := b.server.Requests()[before:]; len(got) > 0 {
			t.Errorf("requests %q after the watch closed, want none", got)
		}
	})
}
