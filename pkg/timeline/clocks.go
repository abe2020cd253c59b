package timeline

import (
	"cmp"
	"slices"
	"time"
)

const (
	// Clocks keeps at most maxLimits lower limits and at most maxLimits upper limits of the skew. If there are more
	// limits, Clocks keeps the latest.
	maxLimits = 32
	// minLimits is the number of clock readings that must confirm a limit of the skew. A single reading can be wrong.
	minLimits = 2
)

// Skew is the difference between the control plane's clock and the node's clock. Skew is positive if the control
// plane's clock is ahead. The true difference is between Least and Most, both included. The zero Skew means that the
// difference is unknown.
type Skew struct{ Least, Most time.Duration }

// Known reports whether the readings give both a lower and an upper limit of the skew.
func (s Skew) Known() bool { return s != Skew{} }

// Proven reports whether the readings prove that the clocks differ.
func (s Skew) Proven() bool { return s.Least > 0 || s.Most < 0 }

// sameAs reports whether two skews lead to the same timeline, apart from the field Timeline.Skew. Only a proven skew
// changes other fields of a timeline.
func (s Skew) sameAs(o Skew) bool { return s == o || !s.Proven() && !o.Proven() }

// widen extends a constraint from a timestamp of the control plane's clock. If the skew is proven, widen extends the
// interval by the skew. The new interval contains the original interval, because the skew might not apply to this
// timestamp.
func (s Skew) widen(c constraint) constraint {
	if s.Proven() {
		c.earliest -= instant(max(0, s.Most))
		c.latest -= instant(min(0, s.Least))
	}
	return c
}

// Clocks estimates the skew from pairs of timestamps. One timestamp of each pair is from the control plane's clock, and
// the other timestamp is from the node's clock. The order of the two timestamps is known. The control plane binds a pod
// before the agent receives the pod. The API server stores an Event before the agent receives the Event. The API server
// sets the Date header of a response after the agent sends the request and before the response arrives. The control
// plane truncates its timestamps to seconds. So a single pair of timestamps gives only a rough limit of the skew, but
// many pairs give a narrow interval. For each of the two limits, Clocks uses the pair with the second-best value. So
// one pod with forged timestamps or one wrong response has no effect. Clocks is not safe for concurrent use.
type Clocks struct{ least, most []skewLimit }

// skewLimit is a lower or an upper limit of the skew, with the time of its observation. For each pod, Clocks keeps only
// the best lower limit and the best upper limit.
type skewLimit struct {
	of    string        // the pod's UID; empty for a reading from an HTTP response
	at    time.Time     // the time of the observation on the agent's clock
	bound time.Duration // the limit of the skew
}

// Observe adds the clock readings that an observation contains. Most observations contain no clock reading.
func (c *Clocks) Observe(o Observation) {
	switch o := o.(type) {
	case ClockSeen:
		c.addReading(o.PodUID(), o.ControlPlaneAt, o.SentAt, o.ArrivedAt)
	case EventSeen:
		// The API server sets StoredAt before the agent receives the Event. Observe ignores the time in the Event's
		// name, because the creator of the Event chooses the name.
		if !o.StoredAt.IsZero() {
			c.addLowerLimit(skewLimit{o.UID, o.ArrivedAt, o.StoredAt.Sub(o.ArrivedAt)})
		}
	case PodSeen:
		// The control plane binds the pod to the node before the agent first sees the pod. A later observation of the
		// pod would give only a weaker limit of the skew.
		if !o.Live || !o.Pod.AcknowledgedAt.IsZero() || !o.Pod.ReadAt.IsZero() {
			return
		}
		for _, condition := range o.Pod.Conditions {
			if condition.Type == "PodScheduled" && condition.True && !condition.TransitionAt.IsZero() {
				c.addLowerLimit(skewLimit{o.Pod.UID, o.ArrivedAt, condition.TransitionAt.Sub(o.ArrivedAt)})
			}
		}
	}
}

// addReading adds a lower and an upper limit of the skew. The argument "second" is a time on the control plane's clock,
// truncated to seconds. At this time, the node's clock was between notBefore and notAfter.
func (c *Clocks) addReading(of string, second, notBefore, notAfter time.Time) {
	if notAfter.Before(notBefore) {
		return
	}
	c.addLowerLimit(skewLimit{of, notAfter, second.Sub(notAfter)})
	c.addUpperLimit(skewLimit{of, notAfter, second.Add(time.Second).Sub(notBefore)})
}

func (c *Clocks) addLowerLimit(r skewLimit) {
	c.least = keepBest(c.least, r, func(a, b time.Duration) bool { return a > b })
}

func (c *Clocks) addUpperLimit(r skewLimit) {
	c.most = keepBest(c.most, r, func(a, b time.Duration) bool { return a < b })
}

// keepBest adds a limit to the list. If the list already contains a limit of the same pod, keepBest keeps only the
// better of the two limits. Otherwise, if the list is full, keepBest removes the oldest limit.
func keepBest(limits []skewLimit, limit skewLimit, better func(a, b time.Duration) bool) []skewLimit {
	i := slices.IndexFunc(limits, func(known skewLimit) bool { return limit.of != "" && known.of == limit.of })
	switch {
	case i >= 0 && better(limit.bound, limits[i].bound):
		limits[i].bound = limit.bound
	case i >= 0:
	case len(limits) == maxLimits:
		return append(slices.Delete(limits, 0, 1), limit)
	default:
		return append(limits, limit)
	}
	return limits
}

// Skew returns the interval that the readings allow. After a change of a clock, older readings can contradict newer
// readings. If the lower limit is then greater than the upper limit, Skew looks for the oldest reading in the lists of
// lower and upper limits. Skew removes the older half of the list that contains this reading, and tries again. If too
// few readings remain, Skew returns the zero Skew.
func (c *Clocks) Skew() Skew {
	least, most := c.least, c.most
	for len(least) >= minLimits && len(most) >= minLimits {
		s := Skew{
			Least: nthBest(least, func(a, b time.Duration) int { return cmp.Compare(b, a) }),
			Most:  nthBest(most, cmp.Compare[time.Duration]),
		}
		if s.Least <= s.Most {
			return s
		}
		if least[0].at.Before(most[0].at) {
			least = least[(len(least)+1)/2:]
		} else {
			most = most[(len(most)+1)/2:]
		}
	}
	return Skew{}
}

// nthBest sorts the limits from best to worst, and returns the limit at the position minLimits. So at least minLimits
// readings confirm this limit.
func nthBest(limits []skewLimit, order func(a, b time.Duration) int) time.Duration {
	bounds := make([]time.Duration, len(limits))
	for i, l := range limits {
		bounds[i] = l.bound
	}
	slices.SortFunc(bounds, order)
	return bounds[minLimits-1]
}
