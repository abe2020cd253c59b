package timeline

import (
	"slices"
	"time"
)

const (
	// maxSilences is the number of silences of the runtime that are kept, the latest.
	maxSilences = 64
	// leastSilence is the shortest silence within a phase for which the runtime may be to blame.
	leastSilence = 50 * time.Millisecond
	// catchUp is how long the runtime usually takes, once it answers again, to do what was requested in the
	// meantime.
	catchUp = 500 * time.Millisecond
)

// SilenceLog holds when the runtime did not answer, to find the phases for which it may be to blame. Not safe for
// concurrent use. The zero value is empty.
type SilenceLog struct{ silences []RuntimeSilent }

// Observe adds a silence and ignores other observations.
func (l *SilenceLog) Observe(o Observation) {
	silent, ok := o.(RuntimeSilent)
	if !ok || !silent.From.Before(silent.Until) {
		return
	}
	for i := range l.silences { // overlapping silences are one
		if known := &l.silences[i]; !silent.From.After(known.Until) && !known.From.After(silent.Until) {
			if silent.From.Before(known.From) {
				known.From = silent.From
			}
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

// Complete separates from phases the time in which the runtime was silent: a network plugin, a registry or the kubelet
// may have been done already and waiting for the runtime. Nothing shows which of them was done. It copies the phases
// first, because others may read them.
func (l *SilenceLog) Complete(t *Timeline) {
	for _, silent := range l.silences {
		if !slices.ContainsFunc(t.Phases, silent.within) {
			continue
		}
		phases := make([]Span, 0, len(t.Phases)+2)
		for _, s := range t.Phases {
			phases = silent.appendParts(phases, s)
		}
		t.Phases = phases
	}
}

// within reports whether the silence overlaps a phase in which other parties work and need the runtime.
func (o RuntimeSilent) within(s Span) bool {
	from, until := o.during(s)
	return until.Sub(from) >= leastSilence && needsRuntime(s) != ""
}

func (o RuntimeSilent) during(s Span) (from, until time.Time) {
	from, until = s.StartAt, s.EndAt
	if o.From.After(from) {
		from = o.From
	}
	if end := o.Until.Add(catchUp); end.Before(until) {
		until = end
	}
	return from, until
}

// appendParts adds a phase, in up to three parts if the silence is within it.
func (o RuntimeSilent) appendParts(phases []Span, s Span) []Span {
	if !o.within(s) {
		return append(phases, s)
	}
	from, until := o.during(s)
	before, silent, after := s, s, s
	before.EndAt, before.Open = from, false
	silent.StartAt, silent.EndAt, silent.Open = from, until, s.Open && until.Equal(s.EndAt)
	after.StartAt = until
	silent.MergedWith = s.MergedWith
	if s.Phase != PhaseUnattributed {
		silent.MergedWith = append([]Phase{s.Phase}, s.MergedWith...)
	}
	if own := needsRuntime(s); !slices.Contains(silent.MergedWith, own) {
		silent.MergedWith = append(slices.Clip(silent.MergedWith), own)
	}
	silent.Phase, silent.Cause = PhaseUnattributed, CauseUnknown
	if before.Duration() > 0 {
		phases = append(phases, before)
	}
	phases = append(phases, silent)
	if after.Duration() > 0 {
		phases = append(phases, after)
	}
	return phases
}

// needsRuntime is the phase of the runtime's own work while other parties work in a phase. It is empty for a phase
// that does not need the runtime, and for one that is charged to it anyway.
func needsRuntime(s Span) Phase {
	of := s.Phase
	if of == PhaseUnattributed && len(s.MergedWith) > 0 {
		of = s.MergedWith[0]
	}
	switch of {
	case PhaseKubeletPickup, PhaseAPIServer, PhasePodConfig, PhaseVolumes, PhaseDevice, PhaseNetwork, PhaseSandboxImage:
		return PhaseSandbox
	case PhasePullQueue, PhasePull, PhaseUnpack, PhaseKubeletSync, PhaseContainerConfig, PhaseCrashBackoff,
		PhaseImageBackoff,
		PhasePostStartHook, PhaseStartupProbe, PhaseReadinessProbe:
		return PhaseContainerCreate
	}
	return ""
}
