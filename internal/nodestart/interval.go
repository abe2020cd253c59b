package nodestart

import "time"

// second is the resolution of timestamps in the API and of the boot time in /proc/stat.
const second = time.Second

// interval holds the earliest and the latest possible time of an instant. The field "at" is the estimated time, which
// is between the two.
type interval struct{ earliest, latest, at time.Time }

func exactly(t time.Time) interval { return interval{t, t, t} }

// truncated returns the interval that contains the exact time of a timestamp. The writer of the timestamp truncated it
// to the resolution, for example to full seconds.
func truncated(t time.Time, resolution time.Duration) interval {
	return interval{t, t.Add(resolution), t.Add(resolution / 2)}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// laterOf returns the interval that contains the later of two instants.
func laterOf(a, b interval) interval {
	return interval{later(a.earliest, b.earliest), later(a.latest, b.latest), later(a.at, b.at)}
}

// earlierOf returns the interval that contains the earlier of two instants.
func earlierOf(a, b interval) interval {
	return interval{earlier(a.earliest, b.earliest), earlier(a.latest, b.latest), earlier(a.at, b.at)}
}

// withEstimateInside moves an estimate that is outside the interval to the nearest end of the interval.
func (i interval) withEstimateInside() interval {
	i.at = earlier(later(i.at, i.earliest), i.latest)
	return i
}

// notAfter limits the interval to times that are not after t. If t is before the interval, notAfter extends the
// interval to t, because it is unknown whether t or the interval is wrong.
func (i interval) notAfter(t time.Time) interval {
	if t.Before(i.earliest) {
		i.earliest = t
		return i
	}
	i.latest = earlier(i.latest, t)
	return i.withEstimateInside()
}

// notBefore limits the interval to times that are not before t. If t is after the interval, notBefore extends the
// interval to t.
func (i interval) notBefore(t time.Time) interval {
	if t.After(i.latest) {
		i.latest = t
		return i
	}
	i.earliest = later(i.earliest, t)
	return i.withEstimateInside()
}

// between returns the time between two estimates, and the error bound of this time. The error bound takes into account
// that the true end is not before the true start.
func between(start, end interval) (length, most time.Duration) {
	length = end.at.Sub(start.at)
	shortest := max(0, end.earliest.Sub(start.latest))
	longest := max(0, end.latest.Sub(start.earliest))
	return length, max(length-shortest, longest-length)
}
