package transitiontest

import (
	"slices"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// checkWithin checks that a time lies within the bounds (earliest and latest time) of at least one of the milestones.
func (a *agreement) checkWithin(what string, at api.Instant, container string, milestones ...timeline.Milestone) {
	if at.IsZero() {
		return
	}
	for _, e := range a.want.Milestones {
		for _, milestone := range milestones {
			if e.Milestone == milestone && e.Container == container && !at.Before(e.Earliest) &&
				(e.Latest.IsZero() || !at.After(e.Latest)) {
				return
			}
		}
	}
	a.Errorf("%s %s at %s is outside the bound of the milestone", container, what, at)
}

// compareLength compares a duration with its start and end times. If both times are present and in order, the duration
// must be present. If a time is absent, or if the times are out of order, the duration must be absent.
func (a *agreement) compareLength(what string, length *api.Seconds, from, to api.Instant) {
	known := !from.IsZero() && !to.IsZero() && !to.Before(from.Time)
	if known != (length != nil) || known && length.Duration() != to.Sub(from.Time) {
		a.Errorf("%s is %v, want the time from %s to %s", what, length, from, to)
	}
}

// comparePhase compares a duration with the duration of a phase in the timeline. comparePhase does nothing if the phase
// is missing, repeated, open (in progress) or merged with another phase. comparePhase also does nothing if the duration
// is absent, or if the timeline has conflicts.
func (a *agreement) comparePhase(phase timeline.Phase, container string, length *api.Seconds) {
	var found []timeline.Span
	for _, span := range a.want.Phases {
		if (span.Phase == phase || slices.Contains(span.MergedWith, phase)) && span.Container == container {
			found = append(found, span)
		}
	}
	if len(found) != 1 || found[0].Open || len(found[0].MergedWith) > 0 || len(a.want.Conflicts) > 0 || length == nil {
		return
	}
	if length.Duration() != found[0].Duration() {
		a.Errorf("%s %s takes %s, want %s like the phase", container, phase, length, found[0].Duration())
	}
}
