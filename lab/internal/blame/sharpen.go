package blame

import (
	"slices"
	"time"
)

// sharpen converts stretches with uncertain starts and ends to stretches with exact starts and ends. The slack of a
// stretch is the largest possible error of its start and of its end. Two stretches are neighbors if the gap between
// them is not longer than the sum of their slacks. If a period can belong to either of two neighbors, the period gets
// the causes of both neighbors. On a side without a neighbor, the result omits the time that might not belong to the
// stretch.
func sharpen(truth []Stretch) []Stretch {
	possible := withGaps(truth)
	var instants []time.Time
	for _, s := range possible {
		instants = append(instants, s.From, s.To, s.From.Add(-s.Slack), s.From.Add(s.Slack), s.To.Add(-s.Slack),
			s.To.Add(s.Slack))
	}
	slices.SortFunc(instants, time.Time.Compare)
	var sharp []Stretch
	for i := 1; i < len(instants); i++ {
		piece := Span{instants[i-1], instants[i]}
		if piece.Length() == 0 {
			continue
		}
		if s, known := possibleWithin(piece, possible); known {
			sharp = append(sharp, s)
		}
	}
	return sharp
}

// withGaps adds stretches without a cause: one before all given stretches, and one after all given stretches. If the
// gap between two stretches is longer than the sum of their slacks, withGaps also fills this gap with a stretch.
func withGaps(truth []Stretch) []Stretch {
	if len(truth) == 0 {
		return nil
	}
	const ever = time.Hour
	truth = slices.Clone(truth)
	first, last := truth[0], truth[len(truth)-1]
	all := []Stretch{{Span: Span{first.From.Add(-ever), first.From}, Slack: first.Slack}}
	for i := range truth {
		s := &truth[i]
		if i+1 == len(truth) {
			all = append(all, *s)
			break
		}
		next := &truth[i+1]
		gap := Span{s.To, next.From}
		if gap.Length() <= s.Slack+next.Slack { // both stretches are extended to the middle of the gap
			s.To = s.To.Add(gap.Length() / 2)
			next.From = s.To
			all = append(all, *s)
			continue
		}
		all = append(all, *s, Stretch{Span: gap, Slack: max(s.Slack, next.Slack)})
	}
	return append(all, Stretch{Span: Span{last.To, last.To.Add(ever)}, Slack: last.Slack})
}

// possibleWithin returns a stretch with all possible causes of the period "piece". The causes of stretches that contain
// the period come first. The causes of stretches that reach the period only with their slack come later. If the period
// can belong to a stretch without a cause, the result "known" is false.
func possibleWithin(piece Span, possible []Stretch) (s Stretch, known bool) {
	for _, candidate := range possible {
		wide := Span{candidate.From.Add(-candidate.Slack), candidate.To.Add(candidate.Slack)}
		if wide.overlap(piece) == 0 {
			continue
		}
		if len(candidate.Causes) == 0 {
			return Stretch{}, false
		}
		if candidate.overlap(piece) > 0 || len(s.Causes) == 0 {
			s.Causes = append(slices.Clone(candidate.Causes), s.Causes...)
			s.Source = candidate.Source
		} else {
			s.Causes = append(s.Causes, candidate.Causes...)
		}
	}
	s.Span = piece
	return s, len(s.Causes) > 0
}
