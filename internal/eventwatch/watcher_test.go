package eventwatch

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/podlapse/podlapse/internal/kubeclient"
	"github.com/podlapse/podlapse/pkg/timeline"
)

type report struct {
	up     bool
	detail string
}

func watcherOf(uid string) *watcher {
	return newWatcher("ns", newRequest(watchOf(uid), new(atomic.Int64)))
}

// TestTurn reads a watch without Events. In some cases, other watches wait for the slot.
func TestTurn(t *testing.T) {
	for name, test := range map[string]struct {
		others   bool
		served   bool          // the waiting watches had a slot before
		breaksAt time.Duration // time at which the watch ends by itself
		want     time.Duration
	}{
		"others wait":              {others: true, served: true, breaksAt: time.Hour, want: leaseTime},
		"the watch breaks first":   {others: true, served: true, breaksAt: time.Second * 10, want: time.Second * 10},
		"another never had a slot": {others: true, breaksAt: time.Hour, want: checkInterval},
		"none waits":               {breaksAt: time.Hour, want: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var observed []timeline.Observation
				observe := func(_ context.Context, o timeline.Observation) { observed = append(observed, o) }
				e := New(Config{Observe: observe, Report: func(bool, string) {}, Now: time.Now,
					Registerer: prometheus.NewRegistry()})
				if test.others {
					e.Watch(watchOf("other"))
					e.queue.waiting[0].served = test.served
					e.queue.taken = e.queue.limit
				}
				w := watch.NewFake()
				breaking := time.AfterFunc(test.breaksAt, w.Stop)
				defer breaking.Stop()
				began := time.Now()
				if !e.processEvents(t.Context(), t.Context(), watcherOf("pod"), startPoint{history: true}, w) {
					t.Error("the turn ended with a fault")
				}
				want := []timeline.Observation{
					timeline.EventsWatched{UID: "pod", ArrivedAt: began.Add(kubeclient.ProvenAfter), OpenedAt: began,
						Order: 1},
					timeline.EventsLost{UID: "pod", ArrivedAt: began.Add(test.want), Order: 2},
				}
				if !slices.Equal(observed, want) {
					t.Errorf("observed %+v, want %+v", observed, want)
				}
				if got := time.Since(began); got != test.want {
					t.Errorf("read for %v, want %v", got, test.want)
				}
			})
		})
	}
}

// TestFaults distinguishes the end of one watch from an API server that refuses watches.
func TestFaults(t *testing.T) {
	for name, test := range map[string]struct {
		after   time.Duration
		reports []report
	}{
		"at once":       {0, []report{{false, "watch events: The resourceVersion for the provided watch is too old."}}},
		"after a while": {time.Minute, []report{{true, "watching"}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var reports []report
				e := New(Config{
					Registerer: prometheus.NewRegistry(),
					Observe:    func(context.Context, timeline.Observation) {},
					Report:     func(up bool, detail string) { reports = append(reports, report{up, detail}) },
					Now:        time.Now,
				})
				w := watch.NewFake()
				defer w.Stop()
				go func() {
					time.Sleep(test.after)
					status := errors.NewResourceExpired(
						"The resourceVersion for the provided watch is too old.").Status()
					w.Error(&status)
				}()
				if e.processEvents(t.Context(), t.Context(), watcherOf("pod"), startPoint{history: true}, w) {
					t.Error("the watch ended without a fault")
				}
				if len(reports) != 1 || reports[0] != test.reports[0] {
					t.Errorf("reported %v, want %v", reports, test.reports)
				}
			})
		})
	}
}

// TestLongInitialBurst sends existing Events slowly. The watch counts as open only after all existing Events arrived.
func TestLongInitialBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var watchedAt []time.Duration
		began := time.Now()
		e := New(Config{
			Registerer: prometheus.NewRegistry(),
			Observe: func(_ context.Context, o timeline.Observation) {
				if _, ok := o.(timeline.EventsWatched); ok {
					watchedAt = append(watchedAt, time.Since(began))
				}
			},
			Report: func(bool, string) {}, Now: time.Now,
		})
		w := watch.NewFake()
		go func() {
			// The versions up to 70 come in the order of the names. The later versions come in the order of arrival.
			for i, version := range []string{"50", "40", "60", "", "30", "70", "20", "80", "81", "82", "83"} {
				event := kubeletEvent("runtime-pod", "E", time.Now())
				event.Name, event.ResourceVersion = fmt.Sprint(i), version
				w.Add(event)
				time.Sleep(300 * time.Millisecond)
			}
			w.Stop()
		}()
		e.processEvents(t.Context(), t.Context(), watcherOf("pod"), startPoint{history: true}, w)
		if want := 6*300*time.Millisecond + kubeclient.ProvenAfter; len(watchedAt) != 1 || watchedAt[0] != want {
			t.Errorf("complete after %v, want %v", watchedAt, want)
		}
	})
}
