package sink

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const drain = 800 * time.Millisecond

func newQueue(capacity int) *Queue[int] {
	return NewQueue[int](Config{Name: "test", Capacity: capacity, Drain: drain, Registerer: prometheus.NewRegistry()})
}

// slowOutput is the output of a queue. An output can be slow for each item, or fail from a given item on.
type slowOutput struct {
	queue    *Queue[int]
	got      []int
	takes    time.Duration
	failFrom int // number of the first item that fails, from 1; 0 means never
	idles    int
}

var errGone = errors.New("gone")

func (o *slowOutput) deliver(_ context.Context, item int) error {
	time.Sleep(o.takes)
	if o.failFrom > 0 && len(o.got)+1 >= o.failFrom {
		return errGone
	}
	o.got = append(o.got, item)
	o.queue.Sent(1)
	return nil
}

func (o *slowOutput) run(ctx context.Context) chan error {
	ended := make(chan error, 1)
	go func() { ended <- o.queue.Run(ctx, o.deliver, func() { o.idles++ }) }()
	return ended
}

func counts(q *Queue[int]) [2]float64 {
	return [2]float64{testutil.ToFloat64(q.sent), testutil.ToFloat64(q.dropped)}
}

func TestQueueDeliversInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &slowOutput{queue: newQueue(8)}
		ctx, stop := context.WithCancel(t.Context())
		ended := o.run(ctx)
		for i := range 20 {
			if err := o.queue.Offer(i); err != nil {
				t.Fatal(err)
			}
			if i%3 == 0 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		stop()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		for i, item := range o.got {
			if i != item {
				t.Fatalf("got %v", o.got)
			}
		}
		if got := counts(o.queue); got != [2]float64{20, 0} || o.idles == 0 {
			t.Errorf("counted %v, idle %d times", got, o.idles)
		}
		if err := o.queue.Offer(1); !errors.Is(err, ErrEnded) || counts(o.queue)[1] != 1 {
			t.Errorf("after the stop: %v, %v", err, counts(o.queue))
		}
	})
}

func TestQueueDropsTheNewest(t *testing.T) {
	o := &slowOutput{queue: newQueue(4)}
	for i := range 3 {
		if err := o.queue.OfferLeaving(i, 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.queue.OfferLeaving(10, 1); !errors.Is(err, ErrFull) {
		t.Errorf("the reserved place: %v", err)
	}
	if err := o.queue.Offer(3); err != nil {
		t.Error(err)
	}
	if err := o.queue.Offer(11); !errors.Is(err, ErrFull) || o.queue.Len() != 4 {
		t.Errorf("over its capacity: %v, %d queued", err, o.queue.Len())
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := <-o.run(stopped); err != nil || len(o.got) != 4 || o.got[3] != 3 || counts(o.queue) != [2]float64{4, 2} {
		t.Errorf("%v, got %v, counted %v", err, o.got, counts(o.queue))
	}
}

// The queue counts every offered item once, for a sink that fails and for a sink that is too slow to stop in time.
func TestQueueCountsDrops(t *testing.T) {
	for name, test := range map[string]struct {
		out  slowOutput
		want error
	}{
		"dies": {slowOutput{failFrom: 3}, errGone},
		"slow": {slowOutput{takes: drain * 2 / 3}, ErrSlow},
	} {
		synctest.Test(t, func(t *testing.T) {
			o := &test.out
			o.queue = newQueue(10)
			for i := range 13 {
				_ = o.queue.Offer(i)
			}
			stopped, stop := context.WithCancel(t.Context())
			stop()
			began := time.Now()
			err := <-o.run(stopped)
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), "(8 items dropped)") ||
				time.Since(began) > 2*drain {
				t.Errorf("%s: %v after %s", name, err, time.Since(began))
			}
			if got := counts(o.queue); got != [2]float64{2, 11} || o.queue.Len() != 0 {
				t.Errorf("%s: counted %v, %d wait", name, got, o.queue.Len())
			}
		})
	}
}

// A delivery that respects its context returns when the time to drain is over.
func TestQueueCancelsStuckDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(10)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- q.Run(ctx, func(ctx context.Context, _ int) error {
				<-ctx.Done()
				return ctx.Err()
			}, func() {})
		}()
		for range 100 {
			_ = q.Offer(1) // never blocks
		}
		synctest.Wait()
		_ = q.Offer(1)
		if q.Len() != 10 {
			t.Errorf("%d wait", q.Len())
		}
		began := time.Now()
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) || time.Since(began) != drain {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		if got := counts(q); got != [2]float64{0, 101} {
			t.Errorf("counted %v", got)
		}
	})
}

// A stuck sink does not affect other sinks, and the memory of the stuck sink does not grow.
func TestQueuesAreIndependent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		make := func(name string) *Queue[[]byte] {
			return NewQueue[[]byte](Config{Name: name, Capacity: 16, Drain: drain, Registerer: registry})
		}
		stuck, healthy := make("stuck"), make("healthy")
		ctx, stop := context.WithCancel(t.Context())
		var sinks sync.WaitGroup
		release := context.WithoutCancel(ctx)
		release, let := context.WithCancel(release)
		sinks.Go(func() {
			_ = stuck.Run(ctx, func(context.Context, []byte) error { <-release.Done(); stuck.Sent(1); return nil },
				func() {})
		})
		sinks.Go(func() {
			_ = healthy.Run(ctx, func(context.Context, []byte) error { healthy.Sent(1); return nil }, func() {})
		})
		for range 1000 {
			_ = stuck.Offer(nil)
			_ = healthy.Offer(nil)
			synctest.Wait()
		}
		const want = `
# HELP podlapse_sink_dropped_total Items that a sink (an output of the agent) did not deliver: the queue of the ` +
			`sink was full, the delivery failed, or the sink had stopped.
# TYPE podlapse_sink_dropped_total counter
podlapse_sink_dropped_total{sink="stuck"} 983
podlapse_sink_dropped_total{sink="healthy"} 0
# HELP podlapse_sink_queue_length Items that wait in the queue of a sink (an output of the agent).
# TYPE podlapse_sink_queue_length gauge
podlapse_sink_queue_length{sink="stuck"} 16
podlapse_sink_queue_length{sink="healthy"} 0
`
		err := testutil.GatherAndCompare(registry, strings.NewReader(want), "podlapse_sink_dropped_total",
			"podlapse_sink_queue_length")
		if err != nil {
			t.Error(err)
		}
		if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
			t.Errorf("%v, %v", problems, err)
		}
		if room := cap(stuck.items); room > 32 {
			t.Errorf("room for %d", room)
		}
		let()
		stop()
		sinks.Wait()
		if got := testutil.ToFloat64(stuck.sent); got != 17 {
			t.Errorf("sent %v at the end", got)
		}
	})
}

// Sinks that are stuck, lose every item or fail do not affect a working sink. Each sink counts every offered item,
// and holds no more items than its queue.
func TestFailingSinksAffectNoOther(t *testing.T) {
	const (
		items    = 1000
		size     = 64 << 10
		capacity = 16
	)
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		queues := map[string]*Queue[[]byte]{}
		for _, name := range []string{"healthy", "stuck", "failing", "dying"} {
			queues[name] = NewQueue[[]byte](Config{Name: name, Capacity: capacity, Drain: drain, Registerer: registry})
		}
		taken := 0
		deliver := map[string]func(context.Context, []byte) error{
			"healthy": func(context.Context, []byte) error { queues["healthy"].Sent(1); return nil },
			"stuck":   func(ctx context.Context, _ []byte) error { <-ctx.Done(); return ctx.Err() },
			"failing": func(context.Context, []byte) error { queues["failing"].Drop(1); return nil },
			"dying": func(context.Context, []byte) error {
				if taken++; taken == 3 {
					return errGone
				}
				queues["dying"].Sent(1)
				return nil
			},
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := map[string]chan error{}
		for name, q := range queues {
			end, deliver := make(chan error, 1), deliver[name]
			ended[name] = end
			go func() { end <- q.Run(ctx, deliver, func() {}) }()
		}
		before := heap()
		for range items {
			for _, q := range queues {
				_ = q.Offer(make([]byte, size))
			}
			synctest.Wait()
		}
		grew, most := heap()-before, int64(capacity+1)*size+1<<20
		if grew > most { // memory of the stuck sinks and of the test itself
			t.Errorf("the heap grew by %d bytes after %d items, want at most %d", grew, items, most)
		}
		if err := <-ended["dying"]; !errors.Is(err, errGone) {
			t.Errorf("died of %v", err)
		}
		began := time.Now()
		stop()
		for name, want := range map[string]error{"healthy": nil, "failing": nil, "stuck": context.Canceled} {
			if err := <-ended[name]; !errors.Is(err, want) {
				t.Errorf("%s ended with %v", name, err)
			}
		}
		if took := time.Since(began); took > drain {
			t.Errorf("took %s to stop", took)
		}
		for name, want := range map[string][2]float64{"healthy": {items, 0}, "stuck": {0, items}, "failing": {0, items},
			"dying": {2, items - 2}} {
			q := queues[name]
			got := [2]float64{testutil.ToFloat64(q.sent), testutil.ToFloat64(q.dropped)}
			if got != want || q.Len() != 0 {
				t.Errorf("%s: counted %v, want %v; %d queued", name, got, want, q.Len())
			}
		}
	})
}

// heap returns the size of the live heap in bytes.
func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// If the test offers items during the stop, the number of offered items is still the sum of sent and dropped items.
func TestQueueCountsEveryItem(t *testing.T) {
	q := newQueue(7)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- q.Run(ctx, func(context.Context, int) error { q.Sent(1); return nil }, func() {})
	}()
	var sources sync.WaitGroup
	for range 4 {
		sources.Go(func() {
			for i := range 5000 {
				_ = q.Offer(i)
			}
		})
	}
	time.Sleep(time.Millisecond)
	stop()
	sources.Wait()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got := counts(q); got[0]+got[1] != 20000 {
		t.Errorf("counted %v of 20000", got)
	}
}
