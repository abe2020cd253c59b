package timeline

import "slices"

// cachedTimeline is the latest timeline of evidence that has not changed since. As long as the passing of time changes
// nothing else, only its last phase has to be extended. This matters on a node that restarts with many pods: clients
// ask every few seconds where each pod is stuck, and a fold costs ten times as much.
type cachedTimeline struct {
	timeline Timeline
	from     instant // the instant of the fold
	until    instant // when it must be folded again
}

// validUntil is the instant from which the passing of time changes more of the timeline than the length of the current
// phase. That is at once if the instant of the fold cut an interval short.
func (f *fold) validUntil(t *Timeline, cut bool) instant {
	if cut {
		return f.asOf
	}
	until := maxInstant
	if t.State == StateStarting {
		if f.open == nil || f.unbounded(f.open) || f.unbounded(f.bounds.find(podMilestone(MilestoneCreated))) {
			return f.asOf // the error grows, too
		}
		if last := t.Phases[len(t.Phases)-1]; last.Error >= last.Duration() {
			return f.asOf // the error may be as long as the phase, which may hold several phases
		}
		until = at(f.e.givesUpAt())
		if reported := len(t.EventMessage); reported < len(f.e.messages) {
			until = min(until, at(f.e.messages[reported].At))
		}
	}
	until = min(until, f.changesFrom(t))
	if due := f.retryDue(); due > f.asOf && due != maxInstant {
		until = min(until, due+1)
	}
	for i := range f.containers {
		if used := f.e.usedBy(f.index(f.containers[i].Name)); used != maxInstant && f.asOf-used <= instant(eventGrace) {
			until = min(until, used+instant(eventGrace)+1) // from then on a missing Event counts as lost
		}
	}
	return until
}

// changesFrom is the instant from which the current phase has other candidates, or an error that grows with it;
// maxInstant if there is none. From then on each request folds again.
func (f *fold) changesFrom(t *Timeline) instant {
	from := maxInstant
	if t.State != StateStarting {
		return from
	}
	last := t.Phases[len(t.Phases)-1]
	if last.Phase == PhaseCrashBackoff || last.Phase == PhaseImageBackoff {
		from = at(last.StartAt) + instant(maxBackoff(last.Phase, last.Attempt))
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

// unbounded reports whether the error of the time since the milestone is too large to count, or soon will be: the
// longest duration is 1<<63.
func (f *fold) unbounded(b *bound) bool { return f.asOf.sub(b.earliest) >= 1<<62 }

// asOf returns the timeline at a later moment, or false if it must be folded again. The caller may change its phases
// and pulls.
func (s *cachedTimeline) asOf(now instant, skew Skew) (Timeline, bool) {
	if s == nil || now < s.from || now >= s.until || !skew.same(s.timeline.Skew) {
		return Timeline{}, false
	}
	t := s.timeline.detached()
	t.Skew = skew
	if t.State == StateStarting {
		last := &t.Phases[len(t.Phases)-1]
		last.EndAt = now.time()
		t.Total = last.EndAt.Sub(t.CreatedAt)
	}
	return t, true
}

// detached returns a copy with its own phases and pulls.
func (t Timeline) detached() Timeline {
	t.Phases, t.Pulls = slices.Clone(t.Phases), slices.Clone(t.Pulls)
	return t
}
