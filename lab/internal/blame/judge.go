package blame

import (
	"slices"
	"time"
)

// Score contains the results of Judge for one or more start-ups. The judged time is the sum of Right, Unattributed and
// Wrong.
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

// isSame reports whether the finding has the same period as the phase t, and the same true causes as the stretch.
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
// and do not overlap. The exact boundary between two stretches is uncertain. If a period can belong to either stretch,
// the causes of both stretches count as true causes. The rules are:
//
//   - The time of a phase counts as right if the reported cause is a true cause of this time.
//   - A group phase, such as unattributed or image_pull, can list candidate causes. If the list is empty or contains
//     a true cause, the time of the phase counts as unattributed.
//   - The time of a phase counts as wrong if the reported cause is wrong. The time of a group phase counts as wrong if
//     the list of candidate causes is not empty and all of them are wrong.
//   - The start and the end of a phase have an error bound. Within this bound, time with a wrong cause counts as
//     unattributed, not as wrong. A larger error bound can therefore reduce the wrong time, but cannot increase the
//     right time.
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

// addOverlap adds the overlap of a stretch and a phase to the score. The argument "length" is the duration of the
// overlap. The argument "proven" is the part of this duration outside the error bounds of the phase's start and end.
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

// blamedCause returns the cause that the Matrix counts as the reported cause. The matrix shows only the first true
// cause of a stretch. If the agent reports another true cause of the stretch, the report is also right. In this case,
// blamedCause returns the first true cause, so that the matrix shows the report as right.
func (t Reported) blamedCause(stretch Stretch) Cause {
	if slices.Contains(stretch.Causes, t.Cause) {
		return stretch.Causes[0]
	}
	return t.Cause
}
