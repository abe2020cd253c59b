package export

import (
	"slices"
	"time"
)

// maxBusy is the maximum number of remembered intervals. If the number of intervals exceeds maxBusy, busyTime forgets
// the oldest interval. A new pull rarely overlaps the oldest interval.
const maxBusy = 256

// busyTime adds up the time during which at least one pull was in progress. The zero value is empty.
type busyTime struct {
	stretches []stretch // disjoint, in order
	forgotten time.Time // addInterval ignores all time before this instant
}

type stretch struct{ from, until time.Time }

// addInterval adds an interval and returns the busy time that was not counted before.
func (b *busyTime) addInterval(from, until time.Time) (fresh time.Duration) {
	if from.Before(b.forgotten) {
		from = b.forgotten
	}
	if !from.Before(until) {
		return 0
	}
	fresh = until.Sub(from)
	first, _ := slices.BinarySearchFunc(b.stretches, from, func(s stretch, t time.Time) int {
		return s.until.Compare(t)
	})
	last := first
	merged := stretch{from, until}
	for ; last < len(b.stretches) && !b.stretches[last].from.After(until); last++ {
		s := b.stretches[last]
		fresh -= max(0, earlier(s.until, until).Sub(later(s.from, from)))
		merged = stretch{earlier(merged.from, s.from), later(merged.until, s.until)}
	}
	b.stretches = slices.Replace(b.stretches, first, last, merged)
	if len(b.stretches) > maxBusy {
		b.forgotten = b.stretches[0].until
		b.stretches = slices.Delete(b.stretches, 0, 1)
	}
	return fresh
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
