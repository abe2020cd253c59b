package timeline

import (
	"cmp"
	"slices"
	"time"
)

const (
	// maxReadings is the number of latest readings that limit the skew on each side.
	maxReadings = 32
	// minReadings is the number of readings that must agree on each side, because a single reading can be wrong.
	minReadings = 2
)

// Skew is the difference between the control plane's clock and the node's clock. Skew is positive if the control
// plane's clock is ahead. The true difference is between Least and Most, both included. The zero value means
// unknown.
type Skew struct{ Least, Most time.Duration }

// Known reports whether readings limit the skew on both sides.
func (s Skew) Known() bool { return s != Skew{} }

// Proven reports whether the readings prove that the clocks differ.
func (s Skew) Proven() bool { return s.Least > 0 || s.Most < 0 }

// sameAs reports whether both skews produce equal timelines, apart from Timeline.Skew. Only a proven skew widens
// intervals.
func (s Skew) sameAs(o Skew) bool { return s == o || !s.Proven() && !o.Proven() }

// widen extends an interval from the control plane's clock by a proven skew. It never removes the original interval,
// because the original timestamp can still be right.
func (s Skew) widen(c constraint) constraint {
	if s.Proven() {
		c.earliest -= instant(max(0, s.Most))
		c.latest -= instant(min(0, s.Least))
	}
	return c
}

// Clocks estimates the skew from events with a timestamp of each clock. The binding of a pod and the storing of
// an Event happen before they arrive at the agent. The Date header of a response is between the request and the
// response. These timestamps are truncated to seconds, so a single pair proves little, but many pairs prove
// more. Clocks ignores the best pair of each side. So one pod with forged timestamps or one wrong response has
// no effect. Clocks is not safe for concurrent use.
type Clocks struct{ least, most []reading }

// reading is one limit of the skew and the time of its observation. Each pod has one reading for each side, its best
// reading.
type reading struct {
	of    string // the pod's UID; empty for a response
	at    time.Time
	bound time.Duration
}

// Observe takes readings of the clocks from an observation. Most observations contain no reading.
func (c *Clocks) Observe(o Observation) {
	switch o := o.(type) {
	case ClockSeen:
		c.pair(o.PodUID(), o.ControlPlaneAt, o.SentAt, o.ArrivedAt)
	case EventSeen:
		// The API server set this timestamp before the Event arrived. Observe ignores the Event's name, because the
		// creator of the Event chooses the name.
		if !o.StoredAt.IsZero() {
			c.atLeast(reading{o.UID, o.ArrivedAt, o.StoredAt.Sub(o.ArrivedAt)})
		}
	case PodSeen:
		// The binding happens before the agent first sees the pod. Later observations of the pod prove less and less.
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

// pair records that the control plane's clock showed a given second. The node's clock was between notBefore and
// notAfter at that instant.
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

// keep adds a reading to the latest readings, or improves the reading of the same pod.
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

// Skew returns the interval that the readings allow. After somebody sets a clock, older readings contradict
// newer readings. Skew then ignores the older half of the readings, repeatedly if necessary.
func (c *Clocks) Skew() Skew {
	least, most := c.least, c.most
	for len(least) >= minReadings && len(most) >= minReadings {
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

// nthBest returns the limit that remains after the best readings are ignored.
func nthBest(readings []reading, order func(a, b time.Duration) int) time.Duration {
	bounds := make([]time.Duration, len(readings))
	for i, r := range readings {
		bounds[i] = r.bound
	}
	slices.SortFunc(bounds, order)
	return bounds[minReadings-1]
}
