package clockset

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeAlarm is an alarm that the test rings.
type fakeAlarm struct {
	rings  chan error
	closed func()
	done   chan struct{}
}

func newFakeAlarm() *fakeAlarm {
	a := &fakeAlarm{rings: make(chan error), done: make(chan struct{})}
	a.closed = sync.OnceFunc(func() { close(a.done) })
	return a
}

func (a *fakeAlarm) wait() error {
	select {
	case err := <-a.rings:
		return err
	case <-a.done:
		return os.ErrClosed
	}
}

func (a *fakeAlarm) close() { a.closed() }

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// after returns a reading after the given time without a suspension. The clock was set by the given total since noon.
func after(passed, set time.Duration) reading {
	return reading{noon.Add(passed + set), time.Hour + passed}
}

func TestChangesAreReported(t *testing.T) {
	for name, test := range map[string]struct {
		readings []reading
		want     []timeline.ClockSet
	}{
		"forward and back": {
			[]reading{after(0, 0), after(time.Second, time.Minute), after(2*time.Second, time.Second)},
			[]timeline.ClockSet{
				{ArrivedAt: noon.Add(61 * time.Second), By: time.Minute},
				{ArrivedAt: noon.Add(3 * time.Second), By: -59 * time.Second},
			},
		},
		"too small to be certain": {[]reading{after(0, 0), after(time.Second, leastChange-1)}, nil},
		"many small changes": {
			[]reading{after(0, 0), after(1, leastChange/2), after(2, leastChange)},
			[]timeline.ClockSet{{ArrivedAt: noon.Add(2 + leastChange), By: leastChange}},
		},
		"a suspension": {[]reading{after(0, 0), after(time.Hour, 0)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			a, left, got := newFakeAlarm(), test.readings, []timeline.ClockSet(nil)
			done := make(chan error)
			go func() {
				done <- watch(ctx, func(_ context.Context, o timeline.Observation) {
					got = append(got, o.(timeline.ClockSet))
				}, func() (alarm, error) { return a, nil }, func() (r reading, err error) {
					if r = left[0]; len(left) > 1 {
						left = left[1:]
					}
					return r, nil
				})
			}()
			for range test.readings {
				a.rings <- nil // the last ring waits until watch has handled all readings
			}
			cancel()
			if err := <-done; err != nil {
				t.Errorf("watch: %v", err)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestFailuresEndTheWatch(t *testing.T) {
	broken := errors.New("broken")
	working := func() (reading, error) { return after(0, 0), nil }
	failing := func() (reading, error) { return reading{}, broken }
	ringing := newFakeAlarm()
	go func() { ringing.rings <- broken }()
	for name, test := range map[string]struct {
		newAlarm func() (alarm, error)
		read     func() (reading, error)
	}{
		"no alarm":  {func() (alarm, error) { return nil, broken }, working},
		"no clock":  {func() (alarm, error) { return newFakeAlarm(), nil }, failing},
		"bad alarm": {func() (alarm, error) { return ringing, nil }, working},
	} {
		if err := watch(t.Context(), nil, test.newAlarm, test.read); !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRunStops uses the kernel's notification, but does not set the clock.
func TestRunStops(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		done <- Run(ctx, func(_ context.Context, o timeline.Observation) { t.Errorf("observed %+v", o) }, zap.New(core))
	}()
	time.Sleep(50 * time.Millisecond) // until Run waits for the kernel
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("run: %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("Run does not stop")
	}
	if n := logs.Len(); (n == 0) != (runtime.GOOS == "linux") {
		t.Errorf("logged %+v", logs.All())
	}
}

func TestReadingsAgree(t *testing.T) {
	first, err := readClocks()
	if err != nil {
		t.Skip(err)
	}
	second, err := readClocks()
	if off := second.since(first); err != nil || off.Abs() >= leastChange {
		t.Errorf("the clocks differ by %s, %v", off, err)
	}
}
