package eventwatch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/podwatchtest"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// bubble is an API server and a source of Events with simulated time.
type bubble struct {
	t      *testing.T
	server *podwatchtest.Server
	events *Source
	stop   func() // stops the source and waits for it

	mu       sync.Mutex
	observed []timeline.Observation
	created  int // number of Events
}

func inBubble(t *testing.T, config Config, test func(*bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{t: t, server: podwatchtest.StartPiped(t)}
		client, err := NewClient(&rest.Config{Host: b.server.URL(), Transport: b.server.Transport()})
		if err != nil {
			t.Fatal(err)
		}
		config.Registerer = prometheus.NewRegistry()
		config.Client, config.NodeName, config.Report = client, nodeName, func(bool, string) {}
		if config.Now == nil {
			config.Now = time.Now
		}
		observe := config.Observe
		config.Observe = func(ctx context.Context, o timeline.Observation) {
			b.mu.Lock()
			b.observed = append(b.observed, o)
			b.mu.Unlock()
			if observe != nil {
				observe(ctx, o)
			}
		}
		b.events = New(config)
		b.events.jitter = 0
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			if err := b.events.Run(ctx); err != nil {
				t.Errorf("Run: %v", err)
			}
		}()
		b.stop = func() {
			cancel()
			<-done
		}
		defer b.stop()
		test(b)
	})
}

// watch requests the Events of pods. Each letter of uids names one pod.
func (b *bubble) watch(namespace, uids string) {
	for _, uid := range uids {
		b.events.Watch(timeline.EventWatch{
			UID: string(uid), InvolvedUID: "runtime-" + string(uid), Namespace: namespace, Name: "pod",
		})
	}
	synctest.Wait()
}

func (b *bubble) unwatch(uids string) {
	for _, uid := range uids {
		b.events.Unwatch(string(uid))
	}
	synctest.Wait()
}

// put creates an Event with a reason about each pod.
func (b *bubble) put(namespace, uids, reason string) {
	for _, uid := range uids {
		b.server.Put(b.event(namespace, string(uid), reason))
	}
	synctest.Wait()
}

func (b *bubble) event(namespace, uid, reason string) *corev1.Event {
	b.created++
	e := kubeletEvent("runtime-"+uid, reason, time.Now())
	e.Namespace, e.Name = namespace, fmt.Sprintf("%s.%04d", uid, b.created)
	e.InvolvedObject.Namespace = namespace
	return e
}

// mark gives a namespace a property for longer than each test.
func (b *bubble) mark(marks namespaceMarks, namespace string) {
	b.events.mu.Lock()
	defer b.events.mu.Unlock()
	marks.set(namespace, time.Now().Add(24*time.Hour))
}

func (b *bubble) sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// take returns the observations since the last call in the form "pod: observation", sorted by pod.
func (b *bubble) take() []string {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []string
	for _, o := range b.observed {
		list = append(list, o.PodUID()+": "+what(o))
	}
	b.observed = nil
	slices.SortStableFunc(list, func(x, y string) int { return int(x[0]) - int(y[0]) })
	return list
}

func what(o timeline.Observation) string {
	switch o := o.(type) {
	case timeline.EventSeen:
		return o.Reason
	case timeline.EventsWatched:
		return "watched"
	case timeline.EventsLost:
		if o.Limited {
			return "waiting"
		}
	}
	return "lost"
}

// counts counts the observations about the pods in uids. Each key is an observation without its pod.
func (b *bubble) counts(uids string) map[string]int {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	counts := map[string]int{}
	for _, o := range b.observed {
		if strings.Contains(uids, o.PodUID()) {
			counts[what(o)]++
		}
	}
	return counts
}

// expect fails unless the new observations of each pod in uids are exactly the observations in whats.
func (b *bubble) expect(uids string, whats ...string) {
	b.t.Helper()
	var want []string
	for _, uid := range uids {
		for _, what := range whats {
			want = append(want, string(uid)+": "+what)
		}
	}
	if got := b.take(); !slices.Equal(got, want) {
		b.t.Errorf("observed %q, want %q", got, want)
	}
}

// requests returns the number of times that the agent requested each watch.
func (b *bubble) requests() map[string]int {
	counts := map[string]int{}
	for _, request := range b.server.Requests() {
		if strings.HasPrefix(request, "watch ") {
			counts[request]++
		}
	}
	return counts
}

// last returns the latest Event that the agent observed for a pod.
func (b *bubble) last(uid string) (seen timeline.EventSeen) {
	return lastOf[timeline.EventSeen](b, uid)
}

// watchedSince returns the field OpenedAt of the pod's last EventsWatched.
func (b *bubble) watchedSince(uid string) time.Time {
	return lastOf[timeline.EventsWatched](b, uid).OpenedAt
}

func lastOf[O timeline.Observation](b *bubble, uid string) (last O) {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, o := range b.observed {
		if o, ok := o.(O); ok && o.PodUID() == uid {
			last = o
		}
	}
	return last
}
