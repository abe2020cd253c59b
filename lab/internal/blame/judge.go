package blame

import (
	"slices"
	"time"
)

// Score is how one start-up, or many, were judged. The judged time is the sum of Right, Unattributed and Wrong.
type Score struct {
	Right        time.Duration
	Unattributed time.Duration // no cause is blamed, or a wrong one within the stated error
	Wrong        time.Duration
	Unjudged     time.Duration // the witnesses do not show who was to blame, or not exactly when

	Cells    Matrix
	Findings []Finding
}

// Finding is time that was charged to the wrong cause.
type Finding struct {
	Stretch  Stretch
	Reported Reported
	Length   time.Duration
}

// same reports whether this is a further part of the same mistake.
func (f Finding) same(stretch Stretch, t Reported) bool {
	return f.Reported.Span == t.Span && slices.Equal(f.Stretch.Causes, stretch.Causes)
}

// Judged is the time for which the witnesses show who was to blame.
func (s *Score) Judged() time.Duration { return s.Right + s.Unattributed + s.Wrong }

// Add adds another score.
func (s *Score) Add(other Score) {
	s.Right += other.Right
	s.Unattributed += other.Unattributed
	s.Wrong += other.Wrong
	s.Unjudged += other.Unjudged
	s.Findings = append(s.Findings, other.Findings...)
	s.Cells = s.Cells.plus(other.Cells)
}

// Judge compares the phases in the agent's timeline with the truth, whose stretches are in order and do not overlap.
// If the slack of a stretch leaves open who was to blame, each possible cause counts as right. A phase is shrunk by its
// stated error before it is called wrong:
//
//   - a phase with a cause of the stretch is right;
//   - an unattributed phase is unattributed, and wrong if it names candidates and none of them is to blame;
//   - any other phase is wrong, except for the time within its stated error. That time counts as unattributed, so a
//     large error gains nothing.
func Judge(reported []Reported, truth []Stretch) Score {
	var s Score
	for _, t := range reported {
		s.Unjudged += t.Length()
	}
	for _, sure := range sharpen(truth) {
		for _, t := range reported {
			length := sure.overlap(t.Span)
			if length == 0 {
				continue
			}
			s.Unjudged -= length
			s.count(sure, t, length, sure.overlap(t.shrunk(t.Error)))
		}
	}
	return s
}

// count adds the time that a stretch and a phase have in common. proven is the part of the phase that its stated error
// does not cover.
func (s *Score) count(stretch Stretch, t Reported, length, proven time.Duration) {
	s.Cells.add(stretch.Causes[0], t.blamed(stretch), length)
	misled := t.Cause != Unknown && !slices.Contains(stretch.Causes, t.Cause)
	if t.Cause == Unknown && len(t.Candidates) > 0 {
		misled = !slices.ContainsFunc(t.Candidates, func(c Cause) bool { return slices.Contains(stretch.Causes, c) })
	}
	switch {
	case misled:
		s.Wrong += proven
		s.Unattributed += length - proven
		if last := len(s.Findings) - 1; proven > 0 && last >= 0 && s.Findings[last].same(stretch, t) {
			s.Findings[last].Length += proven
		} else if proven > 0 {
			s.Findings = append(s.Findings, Finding{Stretch: stretch, Reported: t, Length: proven})
		}
	case t.Cause == Unknown:
		s.Unattributed += length
	default:
		s.Right += length
	}
}

// blamed returns the party that the phase blames. If several causes are equally to blame and it names one of them,
// blamed is the culprit.
func (t Reported) blamed(stretch Stretch) Cause {
	if slices.Contains(stretch.Causes, t.Cause) {
		return stretch.Causes[0]
	}
	return t.Cause
}
