package timeline

import (
	"slices"
	"time"
)

// Settled says that start-up is over and nothing more that matters will come: every want is met or its
// grace has passed.
func (e *Evidence) Settled(now time.Time) bool {
	if _, over := e.endLearned(); !over {
		return e.givenUp(now)
	}
	w := e.Wants(now)
	return !w.Runtime && !w.Events && !e.awaitsLayers(now)
}

// Ended says that start-up is over, though evidence may still be on its way.
func (e *Evidence) Ended() bool {
	_, over := e.endLearned()
	return over
}

// endLearned says whether and when the agent learned that start-up ended.
func (e *Evidence) endLearned() (learnedAt time.Time, over bool) {
	for _, m := range []Mark{MarkReady, MarkSucceeded, MarkFailed, MarkDeleted} {
		for _, c := range e.constraints {
			if c.key == podMark(m) && c.origin == originArrival {
				return c.latest.time(), true
			}
		}
	}
	return time.Time{}, false
}

// graceOver says that start-up has been over for longer than a grace. Either way: of a clock that was put back since, nobody knows
// how long it has been, and it may be hours until it is there again.
func (e *Evidence) graceOver(now time.Time, grace time.Duration) bool {
	end, over := e.endLearned()
	if end.Before(e.scope.ResumedAt) {
		end = e.scope.ResumedAt
	}
	return over && now.Sub(end).Abs() > grace
}

// givenUp says that the pod has been starting for too long. What it came to while no agent was there, the
// first list tells.
func (e *Evidence) givenUp(now time.Time) bool {
	_, over := e.endLearned()
	return !over && e.PodSeen() && !now.Before(e.givesUpAt())
}

// givesUpAt is when a pod that has not come further is given up.
func (e *Evidence) givesUpAt() time.Time {
	givesUp := e.firstSeen.at.Add(giveUpAfter)
	if resumed := e.scope.ResumedAt.Add(eventGrace); resumed.After(givesUp) {
		return resumed
	}
	return givesUp
}

// beforeAgent says that the pod was there, and its start-up over, before the agent's time.
func (e *Evidence) beforeAgent() bool {
	return e.firstSeen.over && !e.firstSeen.live && !e.inScope() || e.isOldMirror()
}

// inScope says that the pod may have come to the node while start-ups are the agent's to report. When it was created does
// not matter: it may have waited for days for a scheduler, or for the node.
func (e *Evidence) inScope() bool {
	return !e.scope.Since.IsZero() && e.pod.reachedNodeAt().Add(time.Second).After(e.scope.Since)
}

// reachedNodeAt is what tells best when a pod came to the node, floored to a second.
func (p *Pod) reachedNodeAt() time.Time {
	if !p.ReadAt.IsZero() {
		return p.ReadAt
	}
	for _, c := range p.Conditions {
		if c.Type == "PodScheduled" && c.True && !c.TransitionAt.IsZero() {
			return c.TransitionAt
		}
	}
	if !p.AcknowledgedAt.IsZero() {
		return p.AcknowledgedAt
	}
	return p.CreatedAt
}

// isOldMirror says that a static pod ran before the kubelet read its manifest, again then as after a restart of its own, or was
// ready before start-ups are the agent's to report. Its object is a mirror, which the kubelet makes anew when somebody deletes it, so
// that such a pod, too, is seen to come.
func (e *Evidence) isOldMirror() bool {
	if e.pod.ReadAt.IsZero() {
		return false
	}
	read := at(e.pod.ReadAt)
	return slices.ContainsFunc(e.constraints, func(c constraint) bool {
		switch c.key.mark {
		case MarkRunning:
			return c.latest < read
		case MarkReady:
			return c.latest < read || !e.scope.Since.IsZero() && c.latest < at(e.scope.Since)
		}
		return false
	})
}
