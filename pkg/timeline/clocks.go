package timeline

import (
	"cmp"
	"slices"
	"time"
)

const (
	// maxReadings is how many readings bound the skew from each side, the latest ones.
	maxReadings = 32
	// minReadings is how many must agree on a side: the best one alone may be bad.
	minReadings = 2
)

// Skew is how far the control plane's clock is ahead of the node's, negative when it is behind: between
// Least and Most, both included. The zero value says that it is not known.
type Skew struct{ Least, Most time.Duration }

// Known says that there is evidence from both sides.
func (s Skew) Known() bool { return s != Skew{} }

// Proven says that the clocks do differ.
func (s Skew) Proven() bool { return s.Least > 0 || s.Most < 0 }

// same says that timelines are the same with either, but that they say which: only what is proven widens anything.
func (s Skew) same(o Skew) bool { return s == o || !s.Proven() && !o.Proven() }

// widen makes room for the skew around an interval that the control plane's clock told. It does so only
// where the clocks are proven to differ, and never moves the interval: both readings stay possible.
func (s Skew) widen(c constraint) constraint {
	if s.Proven() {
		c.earliest -= instant(max(0, s.Most))
		c.latest -= instant(min(0, s.Least))
	}
	return c
}

// Clocks estimates the skew from all that the control plane stamped and the agent can date as well: a pod's
// binding and an Event stored, which were before they arrived; an answer's Date, which lies between question and answer. Each is floored to a second, so one pair says little and many say
// more. The best of each side is left out: one pod with made-up stamps, or one bad answer, moves nothing.
// Not safe for concurrent use.
type Clocks struct{ least, most []reading }

// reading is one bound of the skew, and when it was learned. A pod has one of each side, the best.
type reading struct {
	of    string // the pod's UID; empty for an answer
	at    time.Time
	bound time.Duration
}

// Observe takes what an observation tells of the clocks; most tell nothing.
func (c *Clocks) Observe(o Observation) {
	switch o := o.(type) {
	case ClockSeen:
		c.pair(o.PodUID(), o.ControlPlaneAt, o.SentAt, o.ArrivedAt)
	case EventSeen:
		// The API server stamped it before it arrived. When it was named says nothing: whoever creates it chooses that.
		if !o.StoredAt.IsZero() {
			c.atLeast(reading{o.UID, o.ArrivedAt, o.StoredAt.Sub(o.ArrivedAt)})
		}
	case PodSeen:
		// The first sight of a pod follows its binding; of a later one the binding says less every time.
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

// pair notes that the control plane's clock showed a second at an instant between two of the node's.
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

// keep adds a reading to the latest ones, or betters the same pod's.
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

// Skew is what the readings leave. When a clock was set, older readings contradict newer ones and are left
// out, half of them at a time.
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

// nth is the bound after the best ones that are left out.
func nth(readings []reading, order func(a, b time.Duration) int) time.Duration {
	bounds := make([]time.Duration, len(readings))
	for i, r := range readings {
		bounds[i] = r.bound
	}
	slices.SortFunc(bounds, order)
	return bounds[minReadings-1]
}
