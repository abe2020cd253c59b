package eventwatch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// eventChecker compares the observations with the created Events. When the agent reports a pod as watched, the agent
// must have observed all Events of the API server about this pod.
type eventChecker struct {
	t       *testing.T
	created map[string]map[string]time.Time // creation time of each Event, by the pod's UID
	seen    map[string]map[string]bool
	since   map[string]time.Time // field Since of the latest EventsWatched
	watched map[string]bool      // requested pods that are reported as watched
	seed    uint64
	slow    bool              // the observer is slow, so an observation can concern an earlier request
	wants   map[string]string // namespaces of the requested pods, by UID
	// arrivals holds the times at which pods arrived, by UID. Pods that were present before the agent have no entry.
	arrivals map[string]time.Time
}

// observe blocks for some time if slow is true, like a full queue.
func (w *eventChecker) observe(b *bubble, o timeline.Observation) {
	if w.slow {
		time.Sleep(rand.N(300 * time.Millisecond))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	uid := o.PodUID()
	switch o := o.(type) {
	case timeline.EventSeen:
		if w.seen[uid] == nil {
			w.seen[uid] = map[string]bool{}
		}
		w.seen[uid][o.Reason] = true
	case timeline.EventsWatched:
		for reason, at := range w.created[uid] {
			if at.Before(o.OpenedAt) && at.After(o.Since) && !w.seen[uid][reason] {
				w.t.Errorf("seed %d: %s is reported as watched since %v without %s of %v", w.seed, uid, o.OpenedAt,
					reason, at)
			}
		}
		if w.watched[uid] && !w.slow {
			w.t.Errorf("%s is reported as watched twice", uid)
		}
		w.watched[uid], w.since[uid] = w.wants[uid] != "", o.Since
	case timeline.EventsLost:
		if o.Limited {
			return // the pod waits for a slot
		}
		if !w.watched[uid] && !w.slow && w.wants[uid] != "" {
			w.t.Errorf("%s is reported as lost but was not watched", uid)
		}
		w.watched[uid] = false
	}
}

// complete fails if the agent did not observe an Event of a pod.
func (w *eventChecker) complete(b *bubble, when string, must func(uid string) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for uid := range w.wants {
		for reason, at := range w.created[uid] {
			if must(uid) && at.After(w.since[uid]) && !w.seen[uid][reason] {
				w.t.Errorf("%s: %s of %s was not observed", when, reason, uid)
			}
		}
	}
}

func namespaceOf(uid string) string {
	if uid < "h" {
		return "ns"
	}
	return "other"
}

// create records the time at which an Event is created.
func (w *eventChecker) create(uid, reason string) {
	if w.created[uid] == nil {
		w.created[uid] = map[string]time.Time{}
	}
	w.created[uid][reason] = time.Now()
}

// watch requests the Events of a pod. The pods a to d arrive shortly before their first request.
func (w *eventChecker) watch(b *bubble, random *rand.Rand, uid, involved string) {
	b.mu.Lock()
	w.wants[uid] = namespaceOf(uid)
	b.mu.Unlock()
	if _, ok := w.arrivals[uid]; uid < "e" && !ok {
		b.events.PodStarting()
		w.arrivals[uid] = time.Now()
		b.sleep(time.Duration(random.IntN(2)) * time.Millisecond)
	}
	b.events.Watch(timeline.EventWatch{
		UID: uid, InvolvedUID: "runtime-" + involved, Namespace: namespaceOf(uid), Name: "pod",
		ArrivedAt: w.arrivals[uid],
	})
}

// TestRandomHistories runs random sequences of all operations. The pods y and z are successive mirrors of one static
// pod, so the kubelet uses the same UID for both. The pods a to d arrive while the agent runs.
func TestRandomHistories(t *testing.T) {
	uids := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "y", "z"}
	for seed := range uint64(24) {
		random := rand.New(rand.NewPCG(seed, 0))
		w := &eventChecker{t: t, created: map[string]map[string]time.Time{}, seen: map[string]map[string]bool{},
			watched: map[string]bool{}, since: map[string]time.Time{}, arrivals: map[string]time.Time{},
			wants: map[string]string{}, seed: seed, slow: seed%3 == 0}
		var b *bubble
		config := Config{Limit: 1 + int(seed%6), Cluster: seed%4 == 0,
			Observe: func(_ context.Context, o timeline.Observation) { w.observe(b, o) }}
		inBubble(t, config, func(inner *bubble) {
			b = inner
			b.events.rememberLimit = 1 + random.IntN(20)
			b.events.crowdedSample, b.events.wideSample = 1+random.IntN(8), 1+random.IntN(80)
			for step := range 120 {
				uid := uids[random.IntN(len(uids))]
				involved := uid
				if uid == "z" {
					involved = "y"
				}
				switch n := random.IntN(20); {
				case n < 7:
					w.watch(b, random, uid, involved)
				case n < 10:
					b.mu.Lock()
					delete(w.wants, uid)
					w.watched[uid] = false
					b.mu.Unlock()
					b.events.Unwatch(uid)
				case n < 16:
					reason := fmt.Sprintf("E%d", step)
					b.mu.Lock()
					w.create(uid, reason)
					if involved == "y" {
						w.create("y", reason)
						w.create("z", reason)
					}
					event := b.event(namespaceOf(uid), involved, reason)
					b.mu.Unlock()
					b.server.Put(event)
				case n == 16:
					if random.IntN(2) == 0 {
						b.server.Forget()
					}
					b.server.BreakWatches()
				case n == 17:
					b.server.ExpireWatches()
				default:
					time.Sleep(time.Duration(random.Int64N(int64(20 * time.Second))))
				}
				if random.IntN(2) == 0 {
					synctest.Wait()
					if !w.slow {
						w.complete(b, fmt.Sprintf("seed %d, step %d", seed, step), func(uid string) bool {
							return w.watched[uid]
						})
					}
				}
			}
			b.sleep(time.Hour)
			w.complete(b, fmt.Sprintf("seed %d, at last", seed), func(string) bool { return true })
			for uid := range w.wants {
				b.events.Unwatch(uid)
			}
			b.sleep(clusterLinger)
			got := statsOf(b.events)
			if got.Open != 0 || got.Waiting != 0 || b.events.queue.taken != 0 || len(b.events.shared) != 0 ||
				b.server.Watches() != 0 {
				t.Errorf("seed %d: after the last request: %+v", seed, got)
			}
		})
		if t.Failed() {
			return
		}
	}
}
