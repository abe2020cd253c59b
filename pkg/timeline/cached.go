package timeline

import "slices"

// cachedTimeline is the latest timeline of evidence that nothing was applied to since. Until time alone changes more, it only has to
// be made longer: a node that comes up full is asked every few seconds where each of its pods is stuck, and a fold costs ten
// times as much.
type cachedTimeline struct {
	timeline Timeline
	from     instant // as of when it was folded
	until    instant // from then on it has to be folded anew
}

// validUntil is when time alone changes more of the timeline than the length of the phase that goes on: at once, if the
// instant of the fold cut any evidence short.
func (f *fold) validUntil(t *Timeline, cut bool) instant {
	if cut {
		return f.asOf
	}
	until := maxInstant
	if t.State == StateStarting {
		if f.open == nil || f.unbounded(f.open) || f.unbounded(f.bounds.find(podMark(MarkCreated))) {
			return f.asOf // the error grows as well
		}
		if last := t.Phases[len(t.Phases)-1]; last.Error >= last.Duration() {
			return f.asOf // it may be as long as the phase, in which several may be at work
		}
		until = at(f.e.givesUpAt())
		if reported := len(t.Said); reported < len(f.e.messages) {
			until = min(until, at(f.e.messages[reported].At))
		}
	}
	until = min(until, f.changesFrom(t))
	if due := f.retryDue(); due > f.asOf && due != maxInstant {
		until = min(until, due+1)
	}
	for i := range f.containers {
		if used := f.e.usedBy(f.index(f.containers[i].Name)); used != maxInstant && f.asOf-used <= instant(eventGrace) {
			until = min(until, used+instant(eventGrace)+1) // an Event is lost that may still come
		}
	}
	return until
}

// changesFrom is when the phase that goes on gets other candidates, or an error that grows with it; maxInstant if it does not. From then
// on it is folded anew each time.
func (f *fold) changesFrom(t *Timeline) instant {
	from := maxInstant
	if t.State != StateStarting {
		return from
	}
	last := t.Phases[len(t.Phases)-1]
	if last.Phase == PhaseCrashBackoff || last.Phase == PhaseImageBackoff {
		from = at(last.StartAt) + instant(maxBackoff(last.Phase, last.Attempt))
	}
	if acknowledged := f.bounds.find(podMark(MarkAcknowledged)); acknowledged != nil && f.bounds.find(podMark(MarkSandboxBegun)) == nil {
		if slow := acknowledged.latest + firstCheck + 1; slow > f.asOf {
			from = min(from, slow)
		}
	}
	if from <= f.asOf {
		return f.asOf
	}
	return from
}

// unbounded says that what lasts since the mark has no error that could be counted, or would not have for long: the longest
// length is 1<<63.
func (f *fold) unbounded(b *bound) bool { return f.asOf.sub(b.earliest) >= 1<<62 }

// asOf is the timeline at a later moment; false if it must be folded anew. Who gets it may change its phases and its pulls.
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

// detached has phases and pulls of its own.
func (t Timeline) detached() Timeline {
	t.Phases, t.Pulls = slices.Clone(t.Phases), slices.Clone(t.Pulls)
	return t
}
