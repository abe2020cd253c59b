package timeline

import (
	"slices"
	"time"
)

// Settled reports whether the start-up is over and no more relevant evidence is expected: every want is met or its
// grace has passed.
func (e *Evidence) Settled(now time.Time) bool {
	if _, over := e.endLearned(); !over {
		return e.givenUp(now)
	}
	w := e.Requests(now)
	return !w.Runtime && !w.Events && !e.awaitsLayers(now)
}

// Ended reports whether the start-up is over, though evidence may still be on its way.
func (e *Evidence) Ended() bool {
	_, over := e.endLearned()
	return over
}

// endLearned returns whether and when the agent learned that the start-up ended.
func (e *Evidence) endLearned() (learnedAt time.Time, over bool) {
	for _, m := range []Milestone{MilestoneReady, MilestoneSucceeded, MilestoneFailed, MilestoneDeleted} {
		for _, c := range e.constraints {
			if c.key == podMilestone(m) && c.origin == originArrival {
				return c.latest.time(), true
			}
		}
	}
	return time.Time{}, false
}

// graceOver reports whether the end of the start-up is farther from now than a grace, in either direction. After a
// clock was set back the elapsed time is unknown, and waiting until the clock catches up could take hours.
func (e *Evidence) graceOver(now time.Time, grace time.Duration) bool {
	end, over := e.endLearned()
	if end.Before(e.scope.ResumedAt) {
		end = e.scope.ResumedAt
	}
	return over && now.Sub(end).Abs() > grace
}

// givenUp reports whether the pod has been starting for too long. If it progressed while no agent ran, the first
// list shows that.
func (e *Evidence) givenUp(now time.Time) bool {
	_, over := e.endLearned()
	return !over && e.PodSeen() && !now.Before(e.givesUpAt())
}

// givesUpAt is when a pod that makes no progress is given up.
func (e *Evidence) givesUpAt() time.Time {
	givesUp := e.firstSeen.at.Add(giveUpAfter)
	if resumed := e.scope.ResumedAt.Add(eventGrace); resumed.After(givesUp) {
		return resumed
	}
	return givesUp
}

// beforeAgent reports whether the pod's start-up was over before the agent's time (Scope.Since).
func (e *Evidence) beforeAgent() bool {
	return e.firstSeen.over && !e.firstSeen.live && !e.inScope() || e.isOldMirror()
}

// inScope reports whether the pod may have come to the node in the agent's time (Scope.Since). Its creation does not
// count: it may have waited for days for a scheduler, or for the node.
func (e *Evidence) inScope() bool {
	return !e.scope.Since.IsZero() && e.pod.reachedNodeAt().Add(time.Second).After(e.scope.Since)
}

// reachedNodeAt is the best evidence of when a pod came to the node, truncated to seconds.
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

// isOldMirror reports whether a static pod ran before the kubelet read its manifest, which the kubelet reads again
// after its own restart, or was ready before the agent's time (Scope.Since). Its object is a mirror, which the
// kubelet creates again if it is deleted, so such a pod also seems to be new.
func (e *Evidence) isOldMirror() bool {
	if e.pod.ReadAt.IsZero() {
		return false
	}
	read := at(e.pod.ReadAt)
	return slices.ContainsFunc(e.constraints, func(c constraint) bool {
		switch c.key.milestone {
		case MilestoneRunning:
			return c.latest < read
		case MilestoneReady:
			return c.latest < read || !e.scope.Since.IsZero() && c.latest < at(e.scope.Since)
		}
		return false
	})
}
