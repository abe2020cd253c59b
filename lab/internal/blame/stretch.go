package blame

import (
	"slices"
	"time"
)

// Span is a stretch of the wall clock.
type Span struct{ From, To time.Time }

// Length is the time between the ends, or zero where they are the wrong way round.
func (s Span) Length() time.Duration { return max(0, s.To.Sub(s.From)) }

// shrunk is the part of the span that is in it even if each end is off by so much.
func (s Span) shrunk(by time.Duration) Span { return Span{s.From.Add(by), s.To.Add(-by)} }

// overlap is how much of the span lies in another one.
func (s Span) overlap(other Span) time.Duration {
	if other.From.After(s.From) {
		s.From = other.From
	}
	if other.To.Before(s.To) {
		s.To = other.To
	}
	return s.Length()
}

// Stretch is a part of a pod's start-up of which witnesses know who was to blame.
type Stretch struct {
	Span
	Causes  []Cause       // each of them is right; the first one names the culprit
	Slack   time.Duration // how far each end can be from the truth
	Witness string        // who says so
}

// Lay puts stretches over others: where a later one lies, the earlier ones have nothing to say. The result is in the
// order of time, and no two of its stretches overlap.
func Lay(stretches ...Stretch) []Stretch {
	var laid []Stretch
	for _, over := range stretches {
		if over.Length() == 0 {
			continue
		}
		var cut []Stretch
		for _, under := range laid {
			cut = append(cut, under.without(over.Span)...)
		}
		cut = append(cut, over)
		laid = cut
	}
	slices.SortStableFunc(laid, func(a, b Stretch) int { return a.From.Compare(b.From) })
	return laid
}

// without is what is left of a stretch beside a span.
func (s Stretch) without(over Span) (left []Stretch) {
	if s.overlap(over) == 0 {
		return []Stretch{s}
	}
	before, after := s, s
	before.To, after.From = over.From, over.To
	for _, part := range []Stretch{before, after} {
		if part.Length() > 0 {
			left = append(left, part)
		}
	}
	return left
}
