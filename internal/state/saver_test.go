package state

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/podlapse/podlapse/pkg/timeline"
)

var eventsOfA = timeline.EventsWatched{UID: "a", ArrivedAt: after(2), OpenedAt: after(1)}

// restartTests are the cases of TestStateAfterRestart.
var restartTests = map[string]struct {
	do       func(k *Saver)
	inFlight []timeline.Observation
	reported []string
}{
	"nothing": {func(*Saver) {}, nil, nil},
	"news": {func(k *Saver) {
		k.Observe(seen("a", 1, ""), true)
		k.Observe(event("a", 2, "x"), true)
		k.Observe(event("a", 2, "x"), false)
	}, []timeline.Observation{seen("a", 1, ""), event("a", 2, "x")}, nil},
	"the absence of Events": {func(k *Saver) {
		k.Observe(seen("a", 1, ""), true)
		k.Observe(eventsOfA, true)
	}, []timeline.Observation{seen("a", 1, "")}, nil},
	"a silence of the runtime": {func(k *Saver) {
		k.Observe(seen("a", 1, ""), true)
		k.Observe(runtimeSilent(1, 3), true)
		k.Observe(runtimeSilent(3, 4), true)
	}, []timeline.Observation{runtimeSilent(1, 4), seen("a", 1, "")}, nil},
	"no silence before any pod": {func(k *Saver) {
		k.Observe(runtimeSilent(1, 3), true)
		_ = k.save()
		k.Observe(seen("a", 4, ""), true)
	}, []timeline.Observation{seen("a", 4, "")}, nil},
	"a change of the clock": {func(k *Saver) {
		k.Observe(seen("a", 1, ""), true)
		k.Observe(timeline.ClockSet{ArrivedAt: after(9), By: 6 * time.Second}, true)
		k.Observe(timeline.ClockSet{ArrivedAt: after(9), By: 6 * time.Second}, true)
	}, []timeline.Observation{timeline.ClockSet{ArrivedAt: after(9), By: 6 * time.Second}, seen("a", 1, "")}, nil},
	"the latest pod object, in order of arrival": {func(k *Saver) {
		k.Observe(seen("a", 1, ""), true)
		k.Observe(seen("a", 2, "passing"), false)
		k.Observe(seen("a", 3, "latest"), false)
		k.Observe(event("a", 4, "x"), true)
	}, []timeline.Observation{seen("a", 1, ""), event("a", 4, "x"), seen("a", 3, "latest")}, nil},
	"no outdated pod object": {func(k *Saver) {
		k.Observe(seen("a", 1, ""), true)
		k.Observe(seen("a", 2, "passing"), false)
		k.Observe(acknowledged("a", 3), true)
	}, []timeline.Observation{seen("a", 1, ""), acknowledged("a", 3)}, nil},
	"observations since the last save": {func(k *Saver) {
		k.Observe(seen("a", 1, ""), true)
		k.Observe(seen("a", 2, "passing"), false)
		_ = k.save()
		k.Observe(event("a", 3, "x"), true)
		_ = k.save()
		k.Observe(acknowledged("a", 4), true)
	}, []timeline.Observation{seen("a", 1, ""), event("a", 3, "x"), acknowledged("a", 4)}, nil},
	"reported": {func(k *Saver) {
		k.Observe(seen("a", 1, ""), true)
		k.Observe(seen("b", 1, ""), true)
		k.Reported("a")
	}, []timeline.Observation{seen("b", 1, "")}, []string{"a"}},
	"reported, then deleted": {func(k *Saver) {
		k.Observe(seen("a", 1, ""), true)
		k.Reported("a")
		k.Gone("a")
	}, nil, nil},
	"deleted, not reported yet": {func(k *Saver) {
		k.Observe(seen("a", 1, ""), true)
		k.Observe(gone("a", 2), true)
		k.Gone("a")
	}, []timeline.Observation{seen("a", 1, ""), gone("a", 2)}, nil},
	"deleted, then reported": {func(k *Saver) {
		k.Observe(seen("a", 1, ""), true)
		k.Observe(gone("a", 2), true)
		k.Gone("a")
		k.Reported("a")
	}, nil, nil},
	"an unknown deleted pod": {func(k *Saver) { k.Gone("a") }, nil, nil},
}

func TestStateAfterRestart(t *testing.T) {
	for name, test := range restartTests {
		b := newBench(t, Contents{})
		test.do(b.Saver)
		got := b.saved(t)
		want := Contents{Since: created, InFlight: test.inFlight, Reported: test.reported}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: left\n%+v\nwant\n%+v", name, got, want)
		}
		if lost := testutil.ToFloat64(b.dropped); lost != 0 {
			t.Errorf("%s: %v dropped", name, lost)
		}
		// Each further agent loads and saves the same data.
		if again := newBench(t, got).saved(t); !reflect.DeepEqual(again, got) {
			t.Errorf("%s: the next agent saved\n%+v\nafter loading\n%+v", name, again, got)
		}
	}
}

func TestRestartDoesNotGrowState(t *testing.T) {
	left := Contents{Since: created, InFlight: []timeline.Observation{
		seen("a", 1, ""), event("a", 2, "x"), seen("a", 3, "latest"),
	}}
	b := newBench(t, left)
	b.Observe(seen("a", 9, "listed again"), false)
	if got := b.saved(t).InFlight; len(got) != 3 || got[2].(timeline.PodSeen).Pod.Reason != "listed again" {
		t.Errorf("left %+v", got)
	}
}

func TestSavesAreRateLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Contents{})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- b.Run(ctx) }()
		saves := func() int { synctest.Wait(); return len(b.saves) }

		time.Sleep(time.Hour)
		if n := saves(); n != 0 {
			t.Errorf("%d saves while no pod started", n)
		}
		b.Observe(seen("a", 1, ""), true)
		if n := saves(); n != 1 {
			t.Errorf("%d saves, want the first one immediately", n)
		}
		time.Sleep(time.Minute)
		for i := range 1000 { // one second on a busy node
			b.Observe(seen(fmt.Sprintf("pod-%d", i%100), 1, ""), i < 100)
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Minute)
		if n := saves(); n < 10 || n > 13 {
			t.Errorf("%d saves, want 1 at first, and then at most %d at once and %d in one second", n, saveBurst,
				savesPerSecond)
		}
		before := saves()
		b.Observe(event("a", 1, "x"), true)
		saves()
		b.Reported("a")
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if n := saves(); n != before+2 {
			t.Errorf("%d more saves, want one for the last changes", n-before)
		}
		if c, err := parse(b.saves[len(b.saves)-1], "node-1"); err != nil || !slices.Equal(c.Reported, []string{"a"}) {
			t.Errorf("left %v, %v", c.Reported, err)
		}
	})
}

func TestFullDiskIsReportedAndRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Contents{})
		full := errors.New("no space left on device")
		b.refuse.Store(&full)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- b.Run(ctx) }()
		b.Observe(seen("a", 1, ""), true)
		time.Sleep(time.Minute)
		synctest.Wait()
		b.refuse.Store(nil)
		time.Sleep(retries.Max)
		synctest.Wait()
		stop()
		<-ended
		if len(b.saves) != 1 || len(b.health) != 3 || !strings.Contains(b.health[1], "no space left") ||
			b.health[2] != "up" {
			t.Errorf("%d saves, health %q", len(b.saves), b.health)
		}
	})
}

// Kept returns true if the file contains observations of the start-up and the last save did not fail.
func TestKept(t *testing.T) {
	b := newBench(t, Contents{})
	expect := func(what string, want bool) {
		t.Helper()
		if got := b.Saved("a"); got != want {
			t.Errorf("%s: %t", what, got)
		}
	}
	full := errors.New("no space left on device")
	expect("nobody knows it", false)
	b.Observe(seen("a", 1, ""), true)
	expect("not saved yet", false)
	b.refuse.Store(&full)
	_ = b.save()
	expect("could not be saved", false)
	b.refuse.Store(nil)
	_ = b.save()
	expect("saved", true)
	b.Observe(event("a", 2, "x"), true)
	expect("saved a moment ago", true)
	b.refuse.Store(&full)
	_ = b.save()
	expect("only an older save is there", false)
	b.refuse.Store(nil)
	_ = b.save()
	expect("saved again", true)
	b.Reported("a")
	expect("reported", false)
	b.Observe(seen("a", 3, strings.Repeat("x", maxPodBytes)), true)
	_ = b.save()
	expect("too large for the file", false)
	for i := range maxInFlight - 1 {
		b.Observe(seen(fmt.Sprint(i), 1, ""), true)
	}
	b.Observe(seen("one more", 1, ""), true)
	_ = b.save()
	if !b.Saved("0") || b.Saved("one more") {
		t.Error("more pods are kept than the limit")
	}
	if next := newBench(t, b.saved(t)); !next.Saved("0") || next.Saved("a") {
		t.Error("the next agent has other pods")
	}
}

func TestBounds(t *testing.T) {
	t.Run("observations of a pod", func(t *testing.T) {
		b := newBench(t, Contents{})
		b.Observe(seen("a", 0, ""), true)
		for i := range 3 * maxObservations {
			b.Observe(event("a", float64(i), "x"), true)
			b.Observe(seen("a", float64(i), "latest"), i%2 == 0)
			if i%100 == 0 {
				b.saved(t)
			}
		}
		b.Observe(gone("a", 9999), true)
		got := b.saved(t).InFlight
		if n := len(got); n != maxObservations+2 || got[n-2].(timeline.PodGone).UID != "a" ||
			got[n-1].(timeline.PodSeen).ArrivedAt != after(3*maxObservations-1) {
			t.Errorf("%d left, the last are %+v", n, got[n-2:])
		}
		b.expectLoss(t)
	})
	t.Run("bytes of a pod", func(t *testing.T) {
		b := newBench(t, Contents{})
		b.Observe(seen("a", 0, ""), true)
		for i := range 100 {
			b.Observe(event("a", float64(i), strings.Repeat("x", 10<<10)), true)
		}
		b.Observe(seen("a", 1, strings.Repeat("x", 2<<20)), false) // longer than the maximum length of a line
		if n := len(b.saved(t).InFlight); n < 20 || n > 26 {
			t.Errorf("%d left", n)
		}
		b.expectLoss(t)
	})
	t.Run("bytes of all", func(t *testing.T) {
		b := newBench(t, Contents{})
		for i := range 80 {
			uid := fmt.Sprintf("pod-%03d", i)
			b.Observe(seen(uid, 0, ""), true)
			for range 25 {
				b.Observe(event(uid, 1, strings.Repeat("x", 10<<10)), true)
			}
		}
		b.saved(t)
		b.expectLoss(t)
	})
	t.Run("pods", func(t *testing.T) {
		b := newBench(t, Contents{})
		for i := range maxInFlight + 10 {
			b.Observe(seen(fmt.Sprintf("pod-%d", i), 0, ""), true)
		}
		if n := len(b.saved(t).InFlight); n != maxInFlight {
			t.Errorf("%d left", n)
		}
		b.expectLoss(t)
	})
	t.Run("reported", func(t *testing.T) {
		b := newBench(t, Contents{})
		b.Reported(strings.Repeat("u", maxUID+1))
		for i := range maxReported + 10 {
			b.Reported(fmt.Sprintf("pod-%d", i))
			if i == maxReported-1 {
				b.saved(t) // a file at the limit omits nothing, so the saver logs the first loss later
			}
		}
		if got := b.saved(t).Reported; len(got) != maxReported || got[0] != "pod-10" {
			t.Errorf("%d left from %s", len(got), got[0])
		}
		b.expectLoss(t)
	})
}

// expectLoss checks that the saver counted dropped data. expectLoss saves twice, because the saver must log the loss
// only once.
func (b *bench) expectLoss(t *testing.T) {
	t.Helper()
	if testutil.ToFloat64(b.dropped) == 0 {
		t.Error("nothing counted as dropped")
	}
	b.saved(t)
	b.Observe(event("b", 1, "x"), true) // the file does not contain this observation's pod
	b.saved(t)
	if n := b.logs.FilterMessageSnippet("the state file is full").Len(); n != 1 {
		t.Errorf("logged %d times", n)
	}
}

// After the report of a start-up, the saver holds the observations of the pod's termination until the pod is gone.
func TestTerminationsAreKeptUntilPodIsGone(t *testing.T) {
	requested := seen("a", 5, "")
	requested.Pod.DeletedAt, requested.Pod.DeletionGrace = after(5), 30*time.Second
	observed := requested
	observed.ArrivedAt, observed.Pod.DeletionObserved = after(6), true
	b := newBench(t, Contents{})
	b.ObserveTermination(requested, true) // this agent does not have to report the start-up
	b.Reported("a")
	b.ObserveTermination(event("a", 4, "Killing"), true) // no observation of a termination precedes this Event
	b.ObserveTermination(requested, true)
	b.ObserveTermination(requested, false)
	b.ObserveTermination(observed, true)
	want := Contents{Since: created, Reported: []string{"a"}, Terminations: []timeline.Observation{requested, observed}}
	left := b.saved(t)
	if !reflect.DeepEqual(left, want) {
		t.Fatalf("left\n%+v\nwant\n%+v", left, want)
	}
	next := newBench(t, left)
	if again := next.saved(t); !reflect.DeepEqual(again, want) {
		t.Errorf("the next agent saved\n%+v\nwant\n%+v", again, want)
	}
	next.Gone("a")
	if got, want := next.saved(t), (Contents{Since: created}); !reflect.DeepEqual(got, want) {
		t.Errorf("after the pod is gone:\n%+v", got)
	}
}
