package timeline

import (
	"slices"
	"time"
)

// Settled reports whether the start-up is over and the agent expects no more relevant evidence. The agent expects no
// more evidence if the sources have responded to every request, or if the wait for the responses has ended. Settled
// also returns true if the agent gives up on the start-up.
func (e *Evidence) Settled(now time.Time) bool {
	if !e.Ended() {
		return e.givenUp(now)
	}
	w := e.Requests(now)
	return !w.Runtime && !w.Events && !e.awaitsLayers(now)
}

// Ended reports whether the pod became ready, succeeded, failed or was deleted. Even after the start-up ended, more
// evidence can arrive. Ended returns false if the agent gave up on the start-up.
func (e *Evidence) Ended() bool {
	_, over := e.endLearned()
	return over
}

// endLearned returns the time when the agent learned that the start-up ended, and whether the start-up ended.
func (e *Evidence) endLearned() (learnedAt time.Time, over bool) {
	for _, m := range []Milestone{MilestoneReady, MilestoneSucceeded, MilestoneFailed, MilestoneDeleted} {
		if arrived, seen := e.arrivalOf(podMilestone(m)); seen {
			return arrived.time(), true
		}
	}
	return time.Time{}, false
}

// EndedBefore reports whether the kubelet's timestamps in the pod object prove that the start-up ended before the given
// time.
func (e *Evidence) EndedBefore(t time.Time) bool {
	return slices.ContainsFunc(e.constraints, func(c constraint) bool {
		switch c.key {
		case podMilestone(MilestoneReady), podMilestone(MilestoneSucceeded), podMilestone(MilestoneFailed):
			return c.origin == originStatus && c.latest < at(t)
		}
		return false
	})
}

// graceOver reports whether the start-up ended and the agent has waited longer than "grace" for late evidence. The wait
// begins when the agent learns that the start-up ended, or at Scope.ResumedAt, whichever is later. If the clock is
// set back, the beginning of the wait can be in the future. If the wait begins more than "grace" in the future,
// graceOver also returns true. Without this rule, the agent would wait until the clock catches up.
func (e *Evidence) graceOver(now time.Time, grace time.Duration) bool {
	end, over := e.endLearned()
	return over && now.Sub(later(e.scope.ResumedAt, end)).Abs() > grace
}

// givenUp reports whether the agent gives up on the start-up because the start-up takes too long.
func (e *Evidence) givenUp(now time.Time) bool {
	return !e.Ended() && e.PodSeen() && !now.Before(e.givesUpAt())
}

// givesUpAt returns the time at which the agent gives up on the pod's start-up. After a restart, the agent waits at
// least eventGrace, because the pod might have progressed while no agent ran.
func (e *Evidence) givesUpAt() time.Time {
	return later(e.scope.ResumedAt.Add(eventGrace), e.overdueAt())
}

// overdueAt returns the time at which the agent has known the pod for the duration giveUpAfter.
func (e *Evidence) overdueAt() time.Time {
	// Round removes the reading of the monotonic clock, so that the changes of the clock count.
	return e.clock.moved(e.firstSeen.at.Round(0), giveUpAfter)
}

// Reconstructed reports whether the start-up ended before the agent could observe it (Timeline.Reconstructed).
// Reconstructed returns true if three conditions are true: the agent first saw the pod in a list, the start-up was over
// at that time, and the pod did not reach the node after Scope.Since. Reconstructed also returns true for an old static
// pod (isOldMirror).
func (e *Evidence) Reconstructed() bool {
	return e.firstSeen.over && !e.firstSeen.live && !e.inScope() || e.isOldMirror()
}

// inScope reports whether the pod might have reached the node after Scope.Since. inScope uses the pod's creation time
// only if no better time is known. The creation can be days before the pod reached the node, because the pod might have
// waited for the scheduler or the node.
func (e *Evidence) inScope() bool {
	return !e.scope.Since.IsZero() && e.pod.reachedNodeAt().Add(time.Second).After(e.scope.Since)
}

// reachedNodeAt returns the best known time at which a pod reached the node. The time is truncated to seconds, unless
// it is ReadAt.
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

// isOldMirror reports whether a static pod was already running before the agent could observe its start-up. isOldMirror
// returns true if a container ran or the pod was ready before the kubelet last read the manifest. isOldMirror also
// returns true if the pod was ready before Scope.Since. An old static pod can look new for two reasons: the kubelet
// replaces a deleted mirror object, and a restarted kubelet reads the manifest again.
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
