package timeline

import (
	"slices"
	"time"
)

const (
	// maxSilences is the maximum number of silences in a SilenceLog. During a silence, the runtime does not respond.
	// The log keeps the latest silences.
	maxSilences = 64
	// leastSilence is the minimum overlap of a silence and a phase. If a silence overlaps a phase for a shorter time,
	// the silence does not count as a possible cause of delay. For this comparison, a silence lasts longer by the
	// duration catchUp.
	leastSilence = 50 * time.Millisecond
	// catchUp is the time that the runtime usually needs, after a silence, to finish the requests that arrived during
	// the silence.
	catchUp = 500 * time.Millisecond
)

// SilenceLog records when the runtime did not respond and finds the phases that the runtime might have delayed.
// SilenceLog is not safe for concurrent use. The zero value is an empty log.
type SilenceLog struct{ silences []RuntimeSilent }

// Observe adds a silence and ignores other observations.
func (l *SilenceLog) Observe(o Observation) {
	silent, ok := o.(RuntimeSilent)
	// If the clock was set back, the silence can seem to end before it begins. Observe ignores such a silence, because
	// the change of the clock makes all start-ups in progress unclear. Round removes the readings of the monotonic
	// clock.
	if !ok || !silent.From.Round(0).Before(silent.Until.Round(0)) {
		return
	}
	for i := range l.silences { // overlapping silences become one silence
		if known := &l.silences[i]; !silent.From.After(known.Until) && !known.From.After(silent.Until) {
			known.From = earlier(silent.From, known.From)
			if silent.Until.After(known.Until) {
				known.Until, known.ArrivedAt = silent.Until, silent.ArrivedAt
			}
			return
		}
	}
	if len(l.silences) == maxSilences {
		l.silences = slices.Delete(l.silences, 0, 1)
	}
	l.silences = append(l.silences, silent)
}

// Silences returns the silences in the log.
func (l *SilenceLog) Silences() []RuntimeSilent { return slices.Clone(l.silences) }

// Complete splits each phase that a silence of the runtime might have delayed. The part of the phase during the silence
// becomes an unattributed phase. During a silence, a network plugin, a registry or the kubelet might have finished its
// work and then waited for the runtime. No evidence shows how long the plugin, the registry or the kubelet worked
// before it began to wait for the runtime. Complete copies the phases first, because other goroutines can read the
// original phases.
func (l *SilenceLog) Complete(t *Timeline) {
	for _, silent := range l.silences {
		if !slices.ContainsFunc(t.Phases, silent.mayExplain) {
			continue
		}
		phases := make([]Span, 0, len(t.Phases)+2)
		for _, s := range t.Phases {
			phases = silent.appendParts(phases, s)
		}
		t.Phases = phases
	}
}

// mayExplain reports whether the silence might have delayed the span s. The silence must overlap s by at least
// leastSilence, and needsRuntime must find work of the runtime in s.
func (o RuntimeSilent) mayExplain(s Span) bool {
	from, until := o.during(s)
	return until.Sub(from) >= leastSilence && needsRuntime(s) != ""
}

func (o RuntimeSilent) during(s Span) (from, until time.Time) {
	return later(o.From, s.StartAt), earlier(o.Until.Add(catchUp), s.EndAt)
}

// appendParts appends the phase s to the list "phases". If the silence might have delayed the phase, appendParts splits
// the phase into up to three parts: before, during and after the silence.
func (o RuntimeSilent) appendParts(phases []Span, s Span) []Span {
	if !o.mayExplain(s) {
		return append(phases, s)
	}
	from, until := o.during(s)
	return appendWithPart(phases, s, from, until, func(silent *Span) {
		if !s.Phase.IsGroup() {
			silent.MergedWith = append([]Phase{s.Phase}, s.MergedWith...)
		}
		if own := needsRuntime(s); !slices.Contains(silent.MergedWith, own) {
			silent.MergedWith = append(slices.Clip(silent.MergedWith), own)
		}
		silent.Phase, silent.Cause = PhaseUnattributed, CauseUnknown
	})
}

// needsRuntime returns the runtime's work that the span might include: PhaseSandbox or PhaseContainerCreate. If the
// cause of the span is the runtime, or if the span includes no work of the runtime, the result is empty.
func needsRuntime(s Span) Phase {
	of := s.Phase
	if of.IsGroup() && len(s.MergedWith) > 0 {
		of = s.MergedWith[0]
	}
	switch traits := rowOf(of).traits; {
	case traits&beforeSandbox != 0:
		return PhaseSandbox
	case traits&beforeContainer != 0:
		return PhaseContainerCreate
	}
	return ""
}
