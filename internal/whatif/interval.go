package whatif

import "time"

// Records can come from an untrusted server. With these limits, sums do not overflow.
const (
	maxLength     = 30 * 24 * time.Hour // limit of each duration
	maxProbe      = 24 * time.Hour      // limit of each time setting of a probe
	maxPhases     = 2048
	maxContainers = 512
	// A pod with more than maxPredicted containers has no predictions, because the cost grows at least with the square
	// of the number of containers.
	maxPredicted = 64
)

// interval is a range of possible durations. The true duration is at least low and at most high.
type interval struct{ low, high time.Duration }

func (i interval) plus(o interval) interval { return interval{i.low + o.low, i.high + o.high} }

// lengthInterval returns the interval from length-bound to length+bound. The low end is never negative.
func lengthInterval(length, bound time.Duration) interval {
	return interval{max(length-bound, 0), length + bound}
}

// difference returns the interval of i minus o, for two independent durations i and o.
func (i interval) difference(o interval) interval { return interval{i.low - o.high, i.high - o.low} }

// middle returns the center of the interval.
func (i interval) middle() time.Duration { return i.low + (i.high-i.low)/2 }

// smaller returns an interval that contains the smaller of two durations.
func smaller(a, b interval) interval { return interval{min(a.low, b.low), min(a.high, b.high)} }

// atLeastZero raises negative ends of an interval to 0, because the duration cannot be negative.
func atLeastZero(i interval) interval { return interval{max(i.low, 0), max(i.high, 0)} }

// bounded limits a duration from a record to the range from -maxLength to maxLength.
func bounded(d time.Duration) time.Duration { return min(max(d, -maxLength), maxLength) }
