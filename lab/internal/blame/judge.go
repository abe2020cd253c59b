package blame

import (
	"slices"
	"time"
)

// Score is how a start-up, or many, were judged. Judged time is Right, Unattributed and Wrong together.
type Score struct {
	Right        time.Duration
	Unattributed time.Duration // nobody is blamed, or somebody who is not to blame and whom only the stated error excuses
	Wrong        time.Duration
	Unjudged     time.Duration // no witness knows who was to blame, or not to the instant

	Cells    Matrix
	Findings []Finding
}

// Finding is time that was blamed wrong.
type Finding struct {
	Stretch Stretch
	Told    Told
	Length  time.Duration
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

// Judge compares the phases that the agent tells with the truth, whose stretches do not overlap. Each stretch is shrunk by its
// slack, and a phase by its stated error before it is called wrong, so that what either leaves open is held against nobody:
//
//   - a phase of a cause of the stretch is right;
//   - an unattributed phase is unattributed, and wrong if it names candidates of which none is to blame;
//   - any other phase is wrong, but for what its stated error excuses, which counts as unattributed: a large error gains nothing.
func Judge(told []Told, truth []Stretch) Score {
	var s Score
	for _, t := range told {
		s.Unjudged += t.Length()
	}
	for _, stretch := range truth {
		sure := stretch.shrunk(stretch.Slack)
		for _, t := range told {
			length := sure.overlap(t.Span)
			if length == 0 {
				continue
			}
			s.Unjudged -= length
			s.count(stretch, t, length, sure.overlap(t.shrunk(t.Error)))
		}
	}
	return s
}

// count adds the time that a stretch and a phase have in common; of that, proven is what the stated error does not excuse.
func (s *Score) count(stretch Stretch, t Told, length, proven time.Duration) {
	s.Cells.add(stretch.Causes[0], t.blamed(stretch), length)
	misled := t.Cause != Unknown && !slices.Contains(stretch.Causes, t.Cause)
	if t.Cause == Unknown && len(t.Candidates) > 0 {
		misled = !slices.ContainsFunc(t.Candidates, func(c Cause) bool { return slices.Contains(stretch.Causes, c) })
	}
	switch {
	case misled:
		s.Wrong += proven
		s.Unattributed += length - proven
		if proven > 0 {
			s.Findings = append(s.Findings, Finding{Stretch: stretch, Told: t, Length: proven})
		}
	case t.Cause == Unknown:
		s.Unattributed += length
	default:
		s.Right += length
	}
}

// blamed is whom the phase blames; where several are equally to blame and it names one of these, the culprit.
func (t Told) blamed(stretch Stretch) Cause {
	if slices.Contains(stretch.Causes, t.Cause) {
		return stretch.Causes[0]
	}
	return t.Cause
}
