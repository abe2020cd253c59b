package blame

import (
	"slices"
	"time"
)

// Score is the result of the comparison for one or more start-ups: see Judge. The judged time is the sum of Right,
// Unattributed and Wrong.
type Score struct {
	Right        time.Duration
	Unattributed time.Duration
	Wrong        time.Duration
	Unjudged     time.Duration // time for which the logs do not show the cause, for example between two stretches

	Cells    Matrix
	Findings []Finding
}

// Finding is a period for which the agent reported a wrong cause.
type Finding struct {
	Stretch  Stretch
	Reported Reported
	Length   time.Duration
}

// isSame reports whether the phase and the causes are the same as in the finding.
func (f Finding) isSame(stretch Stretch, t Reported) bool {
	return f.Reported.Span == t.Span && slices.Equal(f.Stretch.Causes, stretch.Causes)
}

// Judged returns the total time for which the independent logs show the cause.
func (s *Score) Judged() time.Duration { return s.Right + s.Unattributed + s.Wrong }

// Add adds the values of another score to this score.
func (s *Score) Add(other Score) {
	s.Right += other.Right
	s.Unattributed += other.Unattributed
	s.Wrong += other.Wrong
	s.Unjudged += other.Unjudged
	s.Findings = append(s.Findings, other.Findings...)
	s.Cells = s.Cells.plus(other.Cells)
}

// Judge compares the phases of the agent's timeline with the true stretches. The stretches are in chronological order
// and do not overlap. The exact boundary between two stretches is uncertain, so the causes of both stretches count as
// true causes in the period that can belong to either stretch. The rules are:
//
//   - The time of a phase counts as right if the reported cause is a true cause of this time.
//   - The time of a group phase, such as unattributed or image_pull, counts as unattributed in two cases: the phase
//     lists no candidates, or at least one candidate has a true cause.
//   - The time of a phase counts as wrong if the reported cause, or the cause of every candidate, is wrong.
//   - Within the error bound of a phase's start or end, time with a wrong cause counts as unattributed, not as wrong.
//     A larger error bound can therefore reduce the time that counts as wrong, but cannot increase the time that
//     counts as right.
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
			s.addOverlap(sure, t, length, sure.overlap(t.shrunk(t.Error)))
		}
	}
	return s
}

// addOverlap adds to the score the time in which a stretch and a phase overlap. The argument "length" is the duration
// of the overlap. The argument "proven" is the part of the overlap that is outside the error bounds of the phase's
// start and end.
func (s *Score) addOverlap(stretch Stretch, t Reported, length, proven time.Duration) {
	s.Cells.add(stretch.Causes[0], t.blamedCause(stretch), length)
	misled := t.Cause != Unknown && !slices.Contains(stretch.Causes, t.Cause)
	if t.Cause == Unknown && len(t.Candidates) > 0 {
		misled = !slices.ContainsFunc(t.Candidates, func(c Cause) bool { return slices.Contains(stretch.Causes, c) })
	}
	switch {
	case misled:
		s.Wrong += proven
		s.Unattributed += length - proven
		if last := len(s.Findings) - 1; proven > 0 && last >= 0 && s.Findings[last].isSame(stretch, t) {
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

// blamedCause returns the reported cause that the matrix shows. The matrix shows only the first true cause of a
// stretch. If the agent reports another true cause of the stretch, blamedCause returns the first true cause, so that
// the matrix shows the report as right.
func (t Reported) blamedCause(stretch Stretch) Cause {
	if slices.Contains(stretch.Causes, t.Cause) {
		return stretch.Causes[0]
	}
	return t.Cause
}
