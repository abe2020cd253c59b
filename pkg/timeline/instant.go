package timeline

import (
	"math"
	"time"
)

// instant is a point in time as nanoseconds since the Unix epoch. It is small, because the evidence of a pod holds
// many.
type instant int64

func at(t time.Time) instant { return instant(t.UnixNano()) }

// time is the zero time for an open end.
func (i instant) time() time.Time {
	if i == minInstant || i == maxInstant {
		return time.Time{}
	}
	return time.Unix(0, int64(i)).UTC()
}

// sub is i minus o. A duration that does not fit is replaced by the longest one.
func (i instant) sub(o instant) time.Duration {
	switch d := time.Duration(i - o); {
	case (d > 0) == (i > o):
		return d
	case i > o:
		return math.MaxInt64
	}
	return math.MinInt64
}

// The widest interval: nothing is known.
const (
	minInstant = instant(-1 << 63)
	maxInstant = instant(1<<63 - 1)
)
