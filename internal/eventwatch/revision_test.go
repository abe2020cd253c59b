package eventwatch

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podlapse/podlapse/internal/kubeclient"
	"github.com/podlapse/podlapse/internal/podwatchtest"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// arrive announces pods on a node where pods need Events. Each letter of uids names one pod. The returned function
// requests the pods' Events.
func (b *bubble) arrive(namespace, uids string) (request func()) {
	arrivedAt := time.Now()
	b.events.mu.Lock()
	b.events.requestedAt = arrivedAt
	b.events.mu.Unlock()
	b.events.PodStarting()
	synctest.Wait()
	time.Sleep(time.Millisecond)
	return func() { b.request(namespace, uids, arrivedAt) }
}

// request requests the Events of pods that arrived at arrivedAt.
func (b *bubble) request(namespace, uids string, arrivedAt time.Time) {
	for _, uid := range uids {
		b.events.Watch(timeline.EventWatch{
			UID: string(uid), InvolvedUID: "runtime-" + string(uid), Namespace: namespace, Name: "pod",
			ArrivedAt: arrivedAt,
		})
	}
	synctest.Wait()
}

// fill creates Events about pods that the agent did not request.
func (b *bubble) fill(namespace string, count int) {
	for i := range count {
		b.server.Put(b.event(namespace, fmt.Sprint("other-", i), "Other"))
	}
	synctest.Wait()
}

// sinceOf returns the field Since of the pod's last EventsWatched.
func (b *bubble) sinceOf(uid string) time.Time { return lastOf[timeline.EventsWatched](b, uid).Since }

func TestWatchBeginsAtTheArrivalOfThePod(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.fill("ns", 50)
		b.put("ns", "a", "Old")
		arrivedAt := time.Now()
		request := b.arrive("ns", "a")
		b.put("ns", "a", "New")
		b.fill("ns", 50)
		b.sleep(time.Minute) // the request is late, for example because the runtime responded late
		request()
		b.sleep(kubeclient.ProvenAfter)
		if got := b.sinceOf("a"); got != arrivedAt {
			t.Errorf("no Event is missing since %v, want %v", got, arrivedAt)
		}
		b.expect("a", "New", "watched")
		b.put("ns", "a", "Newer")
		b.expect("a", "Newer")
		if got := statsOf(b.events); got.Received != 2 || got.Starts != [3]uint64{1, 0, 0} || got.Samples != 1 {
			t.Errorf("stats %+v", got)
		}
	})
}

// TestSampleBeforeTheArrivalCoversAllEvents uses pods that arrive one after the other. The watch of a later pod begins
// at a sample from before the pod's arrival.
func TestSampleBeforeTheArrivalCoversAllEvents(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		for _, uid := range "abcd" {
			arrivedAt := time.Now()
			b.put("ns", string(uid), "AtOnce")
			b.arrive("ns", string(uid))()
			b.sleep(3 * time.Second)
			if early := arrivedAt.Sub(b.sinceOf(string(uid))); uid != 'a' && (early < usualAge || early > maxBefore) {
				t.Errorf("%c: the watch begins %v before the arrival", uid, early)
			}
			b.unwatch(string(uid)) // the next pod has its own watch, too
		}
		want := []string{"a: watched"} // the first Event came before any sample
		for _, uid := range "bcd" {
			want = append(want, string(uid)+": AtOnce", string(uid)+": watched")
		}
		if got := b.take(); !slices.Equal(got, want) {
			t.Errorf("observed %q, want %q", got, want)
		}
	})
}

func TestInterruptedWatchContinues(t *testing.T) {
	for _, uids := range []string{"a", "abcde"} {
		t.Run(fmt.Sprint(len(uids)), func(t *testing.T) {
			inBubble(t, Config{}, func(b *bubble) {
				b.arrive("ns", uids)()
				b.put("ns", uids, "Before")
				b.sleep(time.Minute)
				since := b.sinceOf("a")
				b.expect(uids, "Before", "watched")
				received := statsOf(b.events).Received
				b.server.BreakWatches()
				b.put("ns", uids, "Meanwhile")
				b.sleep(time.Minute)
				if got := b.sinceOf("a"); got != since {
					t.Errorf("no Event is missing since %v, want %v as before", got, since)
				}
				b.expect(uids, "lost", "Meanwhile", "watched")
				if got := statsOf(b.events); got.Received != received+uint64(len(uids)) || got.Starts[1] != 0 {
					t.Errorf("received %d Events before, then %+v", received, got)
				}
			})
		})
	}
}

// TestExpiredRevision lets the API server compact its history while no watch is open.
func TestExpiredRevision(t *testing.T) {
	for name, test := range map[string]struct {
		others int
		want   []string
		starts [3]uint64
	}{
		"few Events":  {10, []string{"lost", "Before", "Meanwhile", "watched"}, [3]uint64{1, 1, 0}},
		"many Events": {maxHistory + 10, []string{"lost", "watched"}, [3]uint64{1, 0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Config{}, func(b *bubble) {
				b.fill("ns", test.others)
				b.arrive("ns", "a")()
				b.sleep(time.Minute)
				b.expect("a", "watched")
				b.put("ns", "a", "Before")
				b.take()
				b.server.BreakWatches()
				synctest.Wait()
				b.put("ns", "a", "Meanwhile")
				b.server.Forget()
				reopened := time.Now()
				b.sleep(time.Minute)
				since := b.sinceOf("a")
				if got := lastOf[timeline.EventsWatched](b, "a").Limited; got != (test.starts[2] > 0) {
					t.Errorf("limited %t", got)
				}
				if complete := test.starts[1] > 0; complete != since.IsZero() || !complete && since.Before(reopened) {
					t.Errorf("no Event is missing since %v, reopened at %v", since, reopened)
				}
				var got []string
				for _, line := range b.take() {
					got = append(got, strings.TrimPrefix(line, "a: "))
				}
				// The agent observed the Event before the interruption. The agent is allowed to observe this Event
				// again.
				if text := strings.Join(got, " "); text != strings.Join(test.want, " ") &&
					text != strings.Replace(strings.Join(test.want, " "), "Before ", "", 1) {
					t.Errorf("observed %q, want %q", got, test.want)
				}
				if got := statsOf(b.events); got.Starts != test.starts || got.Expired != 1 {
					t.Errorf("stats %+v, want starts %v", got, test.starts)
				}
				b.put("ns", "a", "After")
				b.expect("a", "After")
			})
		})
	}
}

// TestLateAgentReadsFewEvents requests the Events of pods that were on the node before the agent.
func TestLateAgentReadsFewEvents(t *testing.T) {
	for _, uids := range []string{"a", "abcde"} {
		t.Run(fmt.Sprint(len(uids)), func(t *testing.T) {
			inBubble(t, Config{}, func(b *bubble) {
				b.fill("large", maxHistory+10)
				b.fill("small", 10)
				b.put("large", uids, "Old")
				b.watch("large", uids)
				b.put("large", uids, "New")
				b.sleep(kubeclient.ProvenAfter)
				if since := b.sinceOf("a"); since.IsZero() {
					t.Error("no Event is reported as missing")
				}
				b.expect(uids, "New", "watched")
				b.put("small", "x", "Old")
				b.watch("small", "x")
				b.sleep(kubeclient.ProvenAfter)
				if since := b.sinceOf("x"); !since.IsZero() {
					t.Errorf("Events before %v are reported as missing", since)
				}
				b.expect("x", "Old", "watched")
				// Before the last pod is requested, the watches of the other pods can already be open.
				got := statsOf(b.events)
				if got.Starts[0] != 0 || got.Starts[1] != 1 || got.Starts[2] < 1 || got.Starts[2] > uint64(len(uids)) ||
					got.Received > 20 {
					t.Errorf("stats %+v", got)
				}
			})
		})
	}
}

// TestRoleWithoutLists uses the ClusterRole of an earlier version of the agent, which allows no lists. The watches
// read the history.
func TestRoleWithoutLists(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.server.Authorize(func(a podwatchtest.Attempt) bool { return a.Verb == "watch" })
		b.put("ns", "a", "Old")
		request := b.arrive("ns", "a")
		request()
		b.sleep(kubeclient.ProvenAfter)
		if since := b.sinceOf("a"); !since.IsZero() {
			t.Errorf("Events before %v are reported as missing", since)
		}
		b.expect("a", "Old", "watched")
		b.server.BreakWatches()
		b.put("ns", "a", "New")
		b.sleep(time.Minute)
		b.expect("a", "lost", "New", "watched")
	})
}

func TestPodRequestedAgainContinues(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		request := b.arrive("ns", "a")
		request()
		b.put("ns", "a", "First")
		b.sleep(time.Minute)
		since := b.sinceOf("a")
		b.unwatch("a")
		b.take()
		b.put("ns", "a", "Between")
		b.sleep(time.Hour)
		request()
		b.sleep(kubeclient.ProvenAfter)
		if got := b.sinceOf("a"); got != since {
			t.Errorf("no Event is missing since %v, want %v", got, since)
		}
		b.expect("a", "Between", "watched")
		if got := statsOf(b.events); got.Received != 2 || got.Starts != [3]uint64{2, 0, 0} {
			t.Errorf("stats %+v", got)
		}
	})
}

// TestSampleInFlight requests the Events of five pods before the API server responds to the request for a sample.
func TestSampleInFlight(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.put("ns", "abcdef", "Old")
		for _, uid := range "abcdef" {
			b.events.PodStarting()
			b.events.Watch(timeline.EventWatch{UID: string(uid), InvolvedUID: "runtime-" + string(uid), Namespace: "ns",
				Name: "pod", ArrivedAt: time.Now()})
		}
		synctest.Wait()
		b.put("ns", "abcdef", "New")
		b.sleep(costPeriod - time.Second)
		b.expect("abcdef", "New", "watched")
		if got := statsOf(b.events); got.Samples != 1 || got.Starts[1]+got.Starts[2] != 0 || got.Open != 1 {
			t.Errorf("stats %+v", got)
		}
	})
}

// TestLateRequestReadsHistory uses a pod that needs Events long after its arrival. No pod on the node needed Events
// before, so no sample is from the time of the arrival.
func TestLateRequestReadsHistory(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		arrivedAt := time.Now()
		b.events.PodStarting()
		b.put("ns", "a", "Old")
		b.sleep(2 * time.Second)
		b.request("ns", "a", arrivedAt)
		b.sleep(kubeclient.ProvenAfter)
		if since := b.sinceOf("a"); !since.IsZero() {
			t.Errorf("Events before %v are reported as missing", since)
		}
		b.expect("a", "Old", "watched")
		if got := statsOf(b.events); got.Starts != [3]uint64{0, 1, 0} || got.Samples != 0 {
			t.Errorf("stats %+v", got)
		}
	})
}

// TestClockSetBackHidesNoGap sets the agent's clock back before the first watch of a pod in a large namespace.
func TestClockSetBackHidesNoGap(t *testing.T) {
	var back atomic.Int64
	inBubble(t, Config{Now: func() time.Time { return time.Now().Add(-time.Duration(back.Load())) }}, func(b *bubble) {
		b.fill("ns", maxHistory+10)
		b.server.Hang()
		requested := time.Now()
		b.watch("ns", "a")
		back.Store(int64(time.Hour))
		b.server.BreakWatches()
		b.server.Heal()
		b.sleep(2 * time.Minute)
		if got := lastOf[timeline.EventsWatched](b, "a"); got.Since.Before(requested) || !got.Limited {
			t.Errorf("observed %+v, want a gap until the request at %v or later", got, requested)
		}
	})
}
