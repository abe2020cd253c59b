package blame

import (
	"slices"
	"time"
)

// sharpen converts stretches with uncertain ends to stretches with exact ends. The slack of a stretch is the largest
// possible error of its start and of its end. Where two stretches meet, the time that can belong to either stretch gets
// the causes of both. At a start or an end without a neighboring stretch, the result omits the time that might not
// belong to the stretch. A gap between two stretches counts as a boundary if the gap is not longer than the sum of
// their slacks.
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

// If the gap between two stretches is longer than the sum of their slacks, withGaps fills the gap with a stretch that
// has no cause. withGaps also adds a stretch without a cause before the first stretch and after the last stretch.
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

// possibleWithin returns the possible causes of a period in which no stretch starts or ends. If one of the stretches
// contains the period, the causes of this stretch come first. If a stretch without a cause can contain the period, the
// result "known" is false.
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
