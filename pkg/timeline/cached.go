package timeline

import "slices"

// cachedTimeline is the timeline from the latest fold. A fold computes a timeline from the evidence. If the evidence
// changes, the cachedTimeline is no longer valid. If only the length of the current phase has changed since the fold,
// asOf only extends this phase, and does not compute the timeline again. A fold costs ten times as much as extending
// the phase. This cost matters after the restart of a node with many pods, because clients then request the current
// phase of each pod every few seconds.
type cachedTimeline struct {
	timeline Timeline
	from     instant // the instant of the fold
	until    instant // from this instant on, the timeline must be computed again
}

// validUntil returns the end of the period in which only the length of the current phase changes. If the fold cut an
// interval at the current time, validUntil returns the current time. The next fold would cut the interval at a later
// time, and compute a different timeline.
func (f *fold) validUntil(t *Timeline, cut bool) instant {
	if cut {
		return f.asOf
	}
	until := maxInstant
	if t.State == StateStarting {
		if f.open == nil || f.isUnbounded(f.open) || f.isUnbounded(f.bounds.find(podMilestone(MilestoneCreated))) {
			return f.asOf // the error bound of the phase grows with time
		}
		if slices.ContainsFunc(f.containers, (*Container).pullsAgain) {
			return f.asOf // see withVolumePulls
		}
		if last := t.Phases[len(t.Phases)-1]; last.Error >= last.Duration() {
			return f.asOf // the duration of the phase limits its error bound, so the bound grows with the phase
		}
		until = min(at(f.e.givesUpAt()), f.changesFrom(t))
		if reported := len(t.EventMessage); reported < len(f.e.messages) {
			until = min(until, at(f.e.messages[reported].At))
		}
	}
	if due := f.retryDue(); due > f.asOf && due != maxInstant {
		until = min(until, due+1)
	}
	for i := range f.containers {
		if used := f.e.usedBy(f.index(f.containers[i].Name)); used != maxInstant && f.asOf-used <= instant(eventGrace) {
			until = min(until, used+instant(eventGrace)+1) // from this instant on, a missing Event counts as lost
		}
	}
	return until
}

// changesFrom returns the instant from which the error bound or the possible alternatives of the current phase change.
// Before this instant, only the length of the phase changes. From this instant on, each request for the timeline needs
// a new fold. If the alternatives and the error bound will never change, changesFrom returns maxInstant. The start-up
// must be in progress.
func (f *fold) changesFrom(t *Timeline) instant {
	from := maxInstant
	last := t.Phases[len(t.Phases)-1]
	if last.Phase == PhaseCrashBackoff || last.Phase == PhaseImageBackoff {
		from = at(last.StartAt) + instant(maxBackoff(last.Phase, last.Attempt))
	}
	from = min(from, f.hiddenPullsFrom(t.Phases))
	if isRefusal(f.open.key.milestone) {
		from = min(from, f.refusalDue(f.open))
	}
	if acknowledged := f.bounds.find(podMilestone(MilestoneAcknowledged)); acknowledged != nil &&
		f.bounds.find(podMilestone(MilestoneSandboxBegun)) == nil {
		if slow := acknowledged.latest + firstCheck + 1; slow > f.asOf {
			from = min(from, slow)
		}
	}
	if from <= f.asOf {
		return f.asOf
	}
	return from
}

// isUnbounded reports whether the time since the milestone is too large for a time.Duration, or will be too large soon.
// The largest time.Duration is 1<<63-1.
func (f *fold) isUnbounded(b *bound) bool { return f.asOf.sub(b.earliest) >= 1<<62 }

// asOf returns the cached timeline, and extends the current phase to the instant "now". If the timeline must be
// computed again, asOf returns false. The caller can change the phases and pulls of the returned timeline.
func (s *cachedTimeline) asOf(now instant, skew Skew) (Timeline, bool) {
	if s == nil || now < s.from || now >= s.until || !skew.sameAs(s.timeline.Skew) {
		return Timeline{}, false
	}
	t := s.timeline.detachedCopy()
	t.Skew = skew
	if t.State == StateStarting {
		last := &t.Phases[len(t.Phases)-1]
		last.EndAt = now.time()
		t.Total = last.EndAt.Sub(t.CreatedAt)
	}
	return t, true
}

// detachedCopy returns a copy of the timeline that has its own phases and pulls.
func (t Timeline) detachedCopy() Timeline {
	t.Phases, t.Pulls = slices.Clone(t.Phases), slices.Clone(t.Pulls)
	return t
}
