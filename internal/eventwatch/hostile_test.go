package eventwatch

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/podlapse/podlapse/internal/kubeclient/kubeclienttest"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// sharedSession returns an open shared watch that serves pods. No API server is involved.
func sharedSession(t *testing.T, config Config, pods ...timeline.EventWatch) (*watchSession, *[]timeline.Observation) {
	t.Helper()
	config.NodeName, config.Now, config.Registerer = nodeName, time.Now, prometheus.NewRegistry()
	events := New(config)
	r := events.beginSession(t.Context(), newWatcher("", nil), startPoint{history: true})
	t.Cleanup(func() { r.proof.timer.Stop() })
	var observed []timeline.Observation
	r.observe = func(o timeline.Observation) { observed = append(observed, o) }
	for _, w := range pods {
		r.members = append(r.members, &member{pod: newRequest(w, &events.order)})
	}
	return r, &observed
}

func (r *watchSession) give(e *corev1.Event) { r.passEvent(watch.Event{Type: watch.Added, Object: e}) }

// eventAbout returns an Event of this node's kubelet about a requested pod.
func eventAbout(w timeline.EventWatch, reason string, n int) *corev1.Event {
	e := kubeletEvent(w.InvolvedUID, reason, kubeclienttest.Begun().Add(time.Duration(n)))
	e.Namespace, e.ResourceVersion = w.Namespace, fmt.Sprint(n+1)
	e.InvolvedObject.Namespace, e.InvolvedObject.Name = w.Namespace, w.Name
	return e
}

// heapAfter returns the growth of the live heap, in bytes, while run runs.
func heapAfter(run func()) int {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	run()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return int(after.HeapAlloc) - int(before.HeapAlloc)
}

// TestOversizedEventsUseLittleMemory sends Events of the largest size that etcd stores. A name or an involved UID has
// 0.7 MB, because the key in etcd also contains the name. Other texts have 1.4 MB. The validation of core/v1 Events
// does not limit the length of these texts.
func TestOversizedEventsUseLittleMemory(t *testing.T) {
	const most = 1 << 20
	long := func(n, length int) string { return fmt.Sprintf("%08d", n) + strings.Repeat("x", length-8) }
	for name, forge := range map[string]func(e *corev1.Event, n int){
		"name":     func(e *corev1.Event, n int) { e.Name = long(n, 700<<10) },
		"UID":      func(e *corev1.Event, n int) { e.InvolvedObject.UID = types.UID(long(n, 1400<<10)) },
		"pod name": func(e *corev1.Event, n int) { e.InvolvedObject.Name = long(n, 1400<<10) },
		"version":  func(e *corev1.Event, n int) { e.ResourceVersion = long(n, 1400<<10) },
		"host":     func(e *corev1.Event, n int) { e.Source.Host = long(n, 1400<<10) },
		"reason":   func(e *corev1.Event, n int) { e.Reason = long(n, 1400<<10) },
		"message":  func(e *corev1.Event, n int) { e.Message = long(n, 1400<<10) },
		"field path": func(e *corev1.Event, n int) {
			e.InvolvedObject.FieldPath = "spec.containers{" + long(n, 1400<<10) + "}"
		},
	} {
		t.Run(name, func(t *testing.T) {
			var pods []timeline.EventWatch
			for i := range 4 {
				pods = append(pods, watchIn("ns", fmt.Sprint(i)))
			}
			r, observed := sharedSession(t, Config{}, pods...)
			grown := heapAfter(func() {
				for n := range 32 * len(pods) {
					e := eventAbout(pods[n%len(pods)], "Pulling", n)
					forge(e, n)
					r.give(e)
					*observed = (*observed)[:0] // the receiver limits the number of observations
				}
				clear((*observed)[:cap(*observed)])
			})
			t.Logf("%.1f MiB more", float64(grown)/(1<<20))
			if grown > most {
				t.Errorf("%d bytes more are in use, want at most %d", grown, most)
			}
			runtime.KeepAlive(r)
		})
	}
}

// TestEventFromOtherNamespaceIsIgnored sends an Event from another namespace that contains the UID of a pod. A tenant
// of that namespace can create this Event: if eventTime is set, the validation allows another
// involvedObject.namespace.
func TestEventFromOtherNamespaceIsIgnored(t *testing.T) {
	victim := timeline.EventWatch{UID: "uid", InvolvedUID: "uid", Namespace: "shop", Name: "web"}
	for name, forge := range map[string]func(*corev1.Event){
		"stored in another namespace": func(e *corev1.Event) { e.Namespace = "tenant" },
		"of another namespace": func(e *corev1.Event) {
			e.Namespace, e.InvolvedObject.Namespace = "tenant", "tenant"
		},
		"about a pod of another namespace": func(e *corev1.Event) { e.InvolvedObject.Namespace = "tenant" },
		"about a pod of another name":      func(e *corev1.Event) { e.InvolvedObject.Name = "other" },
		"about another kind of object":     func(e *corev1.Event) { e.InvolvedObject.Kind = "Node" },
		"about a pod of another UID":       func(e *corev1.Event) { e.InvolvedObject.UID = "other" },
		"from elsewhere":                   func(e *corev1.Event) { e.Source.Host = "node-b" },
	} {
		t.Run(name, func(t *testing.T) {
			r, observed := sharedSession(t, Config{Cluster: true}, victim)
			r.give(eventAbout(victim, "Pulling", 0))
			forged := eventAbout(victim, "Forged", 1)
			forge(forged)
			r.give(forged)
			if len(*observed) != 1 {
				t.Errorf("observed %+v, want only the first", *observed)
			}
			for _, past := range r.cache.eventsOf(victim) {
				if past.seen.Reason == "Forged" {
					t.Error("the forged Event is stored for the pod")
				}
			}
		})
	}
}

// TestEventOfOtherNodeEvictsNothing forges an Event of another node's kubelet about the attacker's own pod.
func TestEventOfOtherNodeEvictsNothing(t *testing.T) {
	own := timeline.EventWatch{UID: "own", InvolvedUID: "own", Namespace: "tenant", Name: "own"}
	victim := timeline.EventWatch{UID: "uid", InvolvedUID: "uid", Namespace: "shop", Name: "web"}
	r, _ := sharedSession(t, Config{Cluster: true}, own)
	r.give(eventAbout(victim, "Pulling", 0))
	r.give(eventAbout(own, "Pulling", 1))
	forged := eventAbout(own, "Forged", 2)
	forged.Source.Host = "node-b"
	r.give(forged)
	if past := r.cache.eventsOf(victim); len(past) != 1 || r.cache.mayLackEvents(victim) {
		t.Errorf("the other pod: stored %+v, forgotten %t", past, r.cache.mayLackEvents(victim))
	}
	if !r.knowsKubelet() {
		t.Error("the cache is not trusted although the kubelet sent an Event with the node's name")
	}
}

// TestFloodEvictsOnlyItsOwnNamespace creates more Events in one namespace, about more pods, than fit into the cache.
func TestFloodEvictsOnlyItsOwnNamespace(t *testing.T) {
	victim := timeline.EventWatch{UID: "uid", InvolvedUID: "uid", Namespace: "shop", Name: "web"}
	for name, pods := range map[string]int{"about many pods": 8 * maxRemembered, "about one": 1} {
		t.Run(name, func(t *testing.T) {
			r, _ := sharedSession(t, Config{Cluster: true})
			r.give(eventAbout(victim, "Pulling", 0))
			for n := range 8 * maxRemembered {
				uid := fmt.Sprint("made-up-", n%pods)
				created := timeline.EventWatch{UID: uid, InvolvedUID: uid, Namespace: "tenant", Name: uid}
				r.give(eventAbout(created, "Flood", n+1))
			}
			if past := r.cache.eventsOf(victim); len(past) != 1 || r.cache.mayLackEvents(victim) {
				t.Errorf("the other namespace's pod: stored %+v, forgotten %t", past, r.cache.mayLackEvents(victim))
			}
		})
	}
}

// TestFloodOpensFewWatches requests pods of a namespace after a shared watch evicted all their Events. Each pod needs
// its own watch, but enough slots must remain free for other namespaces.
func TestFloodOpensFewWatches(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		const wanted = "fghijklmnopqrstuvwxyz"
		b.events.rememberLimit = 1
		b.watch("ns", "abcde")
		b.sleep(time.Minute)
		b.put("ns", wanted, "Flood")
		b.take()
		b.watch("ns", wanted)
		most := 0
		for range 600 {
			most = max(most, statsOf(b.events).Open)
			b.sleep(100 * time.Millisecond)
		}
		if most > maxAlone+1 {
			t.Errorf("%d watches were open, want at most %d", most, maxAlone+1)
		}
		b.expect(wanted, "Flood", "watched")
		if got := statsOf(b.events); got.Open != 1 {
			t.Errorf("at the end: %+v", got)
		}
	})
}
