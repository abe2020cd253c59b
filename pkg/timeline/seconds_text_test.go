package timeline

import (
	"math"
	"testing"
	"time"
)

func TestSecondsText(t *testing.T) {
	for _, test := range []struct {
		d        time.Duration
		decimals int
		want     string
	}{
		{11950 * time.Millisecond, 1, "12.0 s"}, // the nearest float64 is smaller
		{11950*time.Millisecond - 1, 1, "11.9 s"},
		{50 * time.Millisecond, 1, "0.1 s"},
		{50*time.Millisecond - 1, 1, "0.0 s"},
		{250 * time.Millisecond, 1, "0.3 s"}, // the float64 is exact, and fmt rounds half to even
		{10500 * time.Millisecond, 0, "11 s"},
		{1000500 * time.Microsecond, 3, "1.001 s"},
		{-11950 * time.Millisecond, 1, "-12.0 s"},
		{-49 * time.Millisecond, 1, "0.0 s"},
		{0, 3, "0.000 s"},
		{100 * 365 * 24 * time.Hour, 3, "3153600000.000 s"},
		{math.MaxInt64, 1, "9223372036.9 s"},
		{math.MinInt64, 1, "-9223372036.9 s"},
	} {
		if got := SecondsText(test.d, test.decimals); got != test.want {
			t.Errorf("%d ns with %d decimals: got %s, want %s", test.d, test.decimals, got, test.want)
		}
	}
}
