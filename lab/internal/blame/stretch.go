package blame

import (
	"slices"
	"time"
)

// Span is a period of wall-clock time.
type Span struct{ From, To time.Time }

// Length returns the time from the start to the end. Length returns zero if the end is before the start.
func (s Span) Length() time.Duration { return max(0, s.To.Sub(s.From)) }

// shrunk cuts the given duration off both ends of the span. If each end can be wrong by this duration, the rest is
// certain.
func (s Span) shrunk(by time.Duration) Span { return Span{s.From.Add(by), s.To.Add(-by)} }

// overlap returns the duration of the common part of two spans.
func (s Span) overlap(other Span) time.Duration {
	if other.From.After(s.From) {
		s.From = other.From
	}
	if other.To.Before(s.To) {
		s.To = other.To
	}
	return s.Length()
}

// Stretch is a part of a pod's start-up for which independent logs show the cause.
type Stretch struct {
	Span
	Causes []Cause       // true causes; the matrix counts only the first cause
	Slack  time.Duration // largest possible error of each end
	Source string        // name of the source that shows the cause, for example "kubelet's log"
}

// Lay merges stretches so that they do not overlap. If two stretches overlap, the later argument replaces the
// overlapping part of the earlier argument. The resulting stretches are in chronological order.
func Lay(stretches ...Stretch) []Stretch {
	var laid []Stretch
	for _, over := range stretches {
		if over.Length() == 0 {
			continue
		}
		var cut []Stretch
		for _, under := range laid {
			cut = append(cut, under.outside(over.Span)...)
		}
		cut = append(cut, over)
		laid = cut
	}
	slices.SortStableFunc(laid, func(a, b Stretch) int { return a.From.Compare(b.From) })
	return laid
}

// outside returns the parts of a stretch that do not overlap with a span.
func (s Stretch) outside(over Span) (left []Stretch) {
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

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
