package pulse_test

import (
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/pulse"
)

func TestUntil(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct{ after, interval, want time.Duration }{
		{0, time.Second, time.Second},
		{time.Nanosecond, time.Second, time.Second - time.Nanosecond},
		{300 * time.Millisecond, time.Second, 700 * time.Millisecond},
		{500 * time.Millisecond, time.Second, 500 * time.Millisecond},
		{501 * time.Millisecond, time.Second, 1499 * time.Millisecond},
		{time.Second - time.Nanosecond, time.Second, time.Second + time.Nanosecond},
		{3 * time.Second, 10 * time.Second, 7 * time.Second},
		{8 * time.Second, 10 * time.Second, 12 * time.Second},
	} {
		if got := pulse.Until(start.Add(c.after), c.interval); got != c.want {
			t.Errorf("%s after a multiple of %s: got %s, want %s", c.after, c.interval, got, c.want)
		}
	}
}

// Timers with different intervals fire at the same instants, whenever they started.
func TestUntilAligns(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)
	for i := range 1000 {
		now := start.Add(time.Duration(i) * 17 * time.Millisecond)
		for _, interval := range []time.Duration{time.Second, 10 * time.Second} {
			if fires := now.Add(pulse.Until(now, interval)); fires.Nanosecond() != 0 ||
				fires.Truncate(interval) != fires {
				t.Fatalf("at %s, a timer for %s fires at %s", now, interval, fires)
			}
		}
	}
}
