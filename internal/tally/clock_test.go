package tally

import (
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestClockSetBack uses a clock that is ahead by ten days, until somebody sets it back. The start-up from before the
// change must not stay in the sums for ten days, and the sums must not begin in the future.
func TestClockSetBack(t *testing.T) {
	now := noon.Add(240 * time.Hour)
	kept := New(Config{Node: "a", Bytes: mib, Now: func() time.Time { return now }})
	kept.Add(startUp("web", -240*time.Hour, timeline.StateReady, 1, 0))
	now = noon
	kept.Add(startUp("cart", 0, timeline.StateReady, 1, 0))
	report := kept.Report(time.Time{}, nil)
	if report.Since.After(report.At.Time) {
		t.Errorf("the sums begin at %s, after %s", report.Since, report.At)
	}
	if report.Totals.Ended != 2 {
		t.Errorf("%d start-ups, want 2", report.Totals.Ended)
	}
	now = noon.Add(26 * time.Hour)
	kept.Add(startUp("cart", -26*time.Hour, timeline.StateReady, 1, 0))
	if got := kept.Report(time.Time{}, nil).Totals.Ended; got != 1 {
		t.Errorf("%d start-ups of the past day, want 1", got)
	}
}

// TestStartUpWithChangedClock adds a start-up whose duration is unknown, because the clock was set.
func TestStartUpWithChangedClock(t *testing.T) {
	kept := New(Config{Node: "a", Bytes: mib, Now: func() time.Time { return noon }})
	unclear := startUp("web", 0, timeline.StateReady, 1, 0)
	unclear.Missing = []string{timeline.MissingClock}
	kept.Add(unclear)
	kept.Add(startUp("cart", 0, timeline.StateReady, 1, 0))
	if report := kept.Report(time.Time{}, nil); report.Totals.Ended != 1 || len(report.Items) != 1 {
		t.Errorf("the sums contain %d start-ups of %+v", report.Totals.Ended, report.Items)
	}
}

// TestRestoredBeginningIsMonotonic checks that the beginning has a monotonic reading after a restart. Without this
// reading, beganAt cannot notice that the clock is set.
func TestRestoredBeginningIsMonotonic(t *testing.T) {
	first := New(Config{Node: "a", Bytes: mib, Now: func() time.Time { return time.Now().Add(-time.Minute) }})
	text, err := first.Encode()
	if err != nil {
		t.Fatal(err)
	}
	second := New(Config{Node: "a", Bytes: mib, Now: time.Now})
	if err := second.Restore(text); err != nil {
		t.Fatal(err)
	}
	if ago := time.Since(second.began); ago < time.Minute || ago > 2*time.Minute ||
		!strings.Contains(second.began.String(), " m=") {
		t.Errorf("the sums begin at %s", second.began)
	}
}

// TestBeginningIsStable requests many reports from a Tally with a real clock. time.Now reads the wall clock and the
// monotonic clock one after the other, so their difference changes by a few nanoseconds.
func TestBeginningIsStable(t *testing.T) {
	kept := New(Config{Node: "a", Bytes: mib, Now: time.Now})
	first := kept.Report(time.Time{}, nil).Since
	for range 1000 {
		if got := kept.Report(first.Time, nil).Since; !got.Equal(first.Time) {
			t.Fatalf("the sums began at %s, later at %s", first, got)
		}
	}
}
