package timeline

import (
	"cmp"
	"slices"
	"time"
)

const (
	// maxReadings is the number of readings, the latest ones, that bound the skew from each side.
	maxReadings = 32
	// minReadings is the number of readings that must agree on a side, because the best one alone may be bad.
	minReadings = 2
)

// Skew is how far the control plane's clock is ahead of the node's clock, negative if it is behind: between Least
// and Most, both included. The zero value means unknown.
type Skew struct{ Least, Most time.Duration }

// Known reports whether there is evidence from both sides.
func (s Skew) Known() bool { return s != Skew{} }

// Proven reports whether the clocks do differ.
func (s Skew) Proven() bool { return s.Least > 0 || s.Most < 0 }

// same reports whether both skews lead to equal timelines, apart from the skew itself. Only a proven skew widens
// intervals.
func (s Skew) same(o Skew) bool { return s == o || !s.Proven() && !o.Proven() }

// widen extends an interval from the control plane's clock by the skew. It does so only if the clocks are proven to
// differ. It never moves the interval: both readings stay possible.
func (s Skew) widen(c constraint) constraint {
	if s.Proven() {
		c.earliest -= instant(max(0, s.Most))
		c.latest -= instant(min(0, s.Least))
	}
	return c
}

// Clocks estimates the skew from facts that both clocks dated: a pod was bound, or an Event was stored, before it
// arrived, and the Date of a response lies between request and response. Each pair is truncated to seconds, so one
// pair proves little and many prove more. The best pair of each side is ignored, so one pod with forged timestamps,
// or one bad response, has no effect. Not safe for concurrent use.
type Clocks struct{ least, most []reading }

// reading is one bound of the skew and when it was learned. A pod has one reading per side, its best.
type reading struct {
	of    string // the pod's UID; empty for a response
	at    time.Time
	bound time.Duration
}

// Observe takes the readings of the clocks from an observation. Most say nothing.
func (c *Clocks) Observe(o Observation) {
	switch o := o.(type) {
	case ClockSeen:
		c.pair(o.PodUID(), o.ControlPlaneAt, o.SentAt, o.ArrivedAt)
	case EventSeen:
		// The API server set this timestamp before the Event arrived. The Event's name is not used: its creator
		// chooses it.
		if !o.StoredAt.IsZero() {
			c.atLeast(reading{o.UID, o.ArrivedAt, o.StoredAt.Sub(o.ArrivedAt)})
		}
	case PodSeen:
		// The binding precedes the first sight of the pod. For later sights it proves less and less.
		if !o.Live || !o.Pod.AcknowledgedAt.IsZero() || !o.Pod.ReadAt.IsZero() {
			return
		}
		for _, condition := range o.Pod.Conditions {
			if condition.Type == "PodScheduled" && condition.True && !condition.TransitionAt.IsZero() {
				c.atLeast(reading{o.Pod.UID, o.ArrivedAt, condition.TransitionAt.Sub(o.ArrivedAt)})
			}
		}
	}
}

// pair records that the control plane's clock showed a second at an instant between two instants of the node's
// clock.
func (c *Clocks) pair(of string, second, notBefore, notAfter time.Time) {
	if notAfter.Before(notBefore) {
		return
	}
	c.atLeast(reading{of, notAfter, second.Sub(notAfter)})
	c.atMost(reading{of, notAfter, second.Add(time.Second).Sub(notBefore)})
}

func (c *Clocks) atLeast(r reading) {
	c.least = keep(c.least, r, func(a, b time.Duration) bool { return a > b })
}

func (c *Clocks) atMost(r reading) {
	c.most = keep(c.most, r, func(a, b time.Duration) bool { return a < b })
}

// keep adds a reading to the latest ones, or improves the reading of the same pod.
func keep(readings []reading, r reading, better func(a, b time.Duration) bool) []reading {
	i := slices.IndexFunc(readings, func(known reading) bool { return r.of != "" && known.of == r.of })
	switch {
	case i >= 0 && better(r.bound, readings[i].bound):
		readings[i].bound = r.bound
	case i >= 0:
	case len(readings) == maxReadings:
		return append(slices.Delete(readings, 0, 1), r)
	default:
		return append(readings, r)
	}
	return readings
}

// Skew is the interval that the readings leave. After a clock was set, older readings contradict newer ones; they
// are dropped, half of them at a time.
func (c *Clocks) Skew() Skew {
	least, most := c.least, c.most
	for len(least) >= minReadings && len(most) >= minReadings {
		s := Skew{
			Least: nth(least, func(a, b time.Duration) int { return cmp.Compare(b, a) }),
			Most:  nth(most, cmp.Compare[time.Duration]),
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

// nth is the bound that remains after the best readings are dropped.
func nth(readings []reading, order func(a, b time.Duration) int) time.Duration {
	bounds := make([]time.Duration, len(readings))
	for i, r := range readings {
		bounds[i] = r.bound
	}
	slices.SortFunc(bounds, order)
	return bounds[minReadings-1]
}
