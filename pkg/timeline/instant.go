package timeline

import (
	"math"
	"time"
)

// instant is a point in time in nanoseconds since the Unix epoch. An instant needs less memory than a time.Time, and
// the evidence of a pod contains many instants.
type instant int64

func at(t time.Time) instant { return instant(t.UnixNano()) }

// time returns the instant as a time.Time in UTC. For minInstant and maxInstant, the result is the zero time.Time.
func (i instant) time() time.Time {
	if i == minInstant || i == maxInstant {
		return time.Time{}
	}
	return time.Unix(0, int64(i)).UTC()
}

// sub returns i minus o, limited to the range of time.Duration.
func (i instant) sub(o instant) time.Duration {
	switch d := time.Duration(i - o); {
	case (d > 0) == (i > o):
		return d
	case i > o:
		return math.MaxInt64
	}
	return math.MinInt64
}

// earlier returns the earlier of two times, or b if the times are equal.
func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// later returns the later of two times, or b if the times are equal.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// An interval that begins at minInstant has no lower limit. An interval that ends at maxInstant has no upper limit. An
// interval from minInstant to maxInstant means that nothing is known.
const (
	minInstant = instant(-1 << 63)
	maxInstant = instant(1<<63 - 1)
)
