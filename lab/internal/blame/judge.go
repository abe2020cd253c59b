package blame

import (
	"slices"
	"time"
)

// Score is how a start-up, or many, were judged. Judged time is Right, Unattributed and Wrong together.
type Score struct {
	Right        time.Duration
	Unattributed time.Duration // no cause is blamed, or a wrong one that only the stated error excuses
	Wrong        time.Duration
	Unjudged     time.Duration // no witness knows who was to blame, or not to the instant

	Cells    Matrix
	Findings []Finding
}

// Finding is time that was blamed wrong.
type Finding struct {
	Stretch  Stretch
	Reported Reported
	Length   time.Duration
}

// same says that more of the same time was blamed wrong in the same way.
func (f Finding) same(stretch Stretch, t Reported) bool {
	return f.Reported.Span == t.Span && slices.Equal(f.Stretch.Causes, stretch.Causes)
}

// Judged is the time of which witnesses know who was to blame.
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

// Judge compares the phases that the agent tells with the truth, whose stretches do not overlap and are in the order of
// time. Where the slack of a stretch leaves open who was to blame, each of those that can be is right; a phase is
// shrunk by its stated error before it is called wrong:
//
//   - a phase of a cause of the stretch is right;
//   - an unattributed phase is unattributed, and wrong if it names candidates of which none is to blame;
//   - any other phase is wrong, but for what its stated error excuses; that counts as unattributed, so that a large
//     error gains nothing.
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

// count adds the time that a stretch and a phase have in common; of that, proven is what the stated error does not
// excuse.
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

// blamed is whom the phase blames; where several are equally to blame and it names one of these, the culprit.
func (t Reported) blamed(stretch Stretch) Cause {
	if slices.Contains(stretch.Causes, t.Cause) {
		return stretch.Causes[0]
	}
	return t.Cause
}
