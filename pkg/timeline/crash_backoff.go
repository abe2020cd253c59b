package timeline

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// phaseBeforeRun returns the phase before a restart of a container. The kubelet makes the first restart without delay.
// Before later restarts, the kubelet waits for a back-off, even if the exit code is 0 (doBackOff in
// pkg/kubelet/kuberuntime).
func phaseBeforeRun(attempt uint16) Phase {
	if attempt == 1 {
		return PhaseKubeletSync
	}
	return PhaseCrashBackoff
}

// phaseBeforeRestart returns the phase before a restart of a container. phaseBeforeRestart also considers whether the
// container restarted in another sandbox than before. If the usual back-off was over before the new sandbox ran, the
// kubelet started the container in it without a further wait.
func (f *fold) phaseBeforeRestart(index int16, attempt uint16) Phase {
	phase, ended := phaseBeforeRun(attempt), f.bounds.find(milestoneKey{index, attempt - 1, MilestoneFinished})
	if phase != PhaseCrashBackoff || ended == nil {
		return phase
	}
	over := ended.latest + instant(imagepull.Backoff(int(attempt)-1))
	if slices.ContainsFunc(f.sandboxes, func(c chain) bool {
		begun, ran := f.bounds.find(c.steps[0].key), f.bounds.find(c.steps[len(c.steps)-1].key)
		return begun != nil && ran != nil && ran.earliest > over && f.isBetweenRuns(index, attempt-1, begun.estimate())
	}) {
		return PhaseKubeletSync
	}
	return phase
}

// alsoBeforeRun returns the possible phases before a restart of a container, except the phase that phaseBeforeRestart
// returns.
func (f *fold) alsoBeforeRun(c *Container, attempt uint16) []Phase {
	index := f.index(c.Name)
	also := f.pullBeforeRestart(c, index)
	if f.mayLackBackoff(index, attempt) {
		also = uniquePhases(also, alsoKubeletSync)
	}
	return also
}

// mayLackBackoff reports whether the kubelet might have started a run without a back-off, although the container had
// been restarted before. This is possible in two cases:
//   - The kubelet restarted and forgot the back-off. Then the wait is shorter than the usual back-off.
//   - The container had run so long that the kubelet forgot the back-off.
//
// If a status reported the back-off, mayLackBackoff returns false.
func (f *fold) mayLackBackoff(index int16, attempt uint16) bool {
	return attempt > 1 && f.e.containers[index].backoffReportedAt(attempt-1) == 0 &&
		(f.beganDuringBackoff(index, attempt) || f.mayForgetBackoff(index, attempt-1))
}

// beganDuringBackoff reports whether the kubelet began a run, or tried to begin it, during the usual back-off after the
// previous run.
func (f *fold) beganDuringBackoff(index int16, attempt uint16) bool {
	ended := f.bounds.find(milestoneKey{index, attempt - 1, MilestoneFinished})
	if attempt < 2 || ended == nil {
		return false
	}
	over := ended.earliest + instant(imagepull.Backoff(int(attempt)-1))
	return slices.ContainsFunc(creationMilestones, func(m Milestone) bool {
		b := f.bounds.find(milestoneKey{index, attempt, m})
		return b != nil && b.latest < over
	})
}

// mayForgetBackoff reports whether a run might have lasted so long that the kubelet forgot the container's back-off.
// The kubelet measures from the end of the back-off before the run to the end of the run (client-go,
// flowcontrol/backoff.go). No evidence shows when the back-off ended. So mayForgetBackoff measures from the end of the
// previous run. If this end is unknown, mayForgetBackoff measures from the beginning of the run itself.
func (f *fold) mayForgetBackoff(index int16, run uint16) bool {
	ended := f.bounds.find(milestoneKey{index, run, MilestoneFinished})
	if ended == nil {
		return false
	}
	for _, since := range []milestoneKey{
		{index, run - 1, MilestoneFinished}, {index, run, MilestoneContainerCreated}, {index, run, MilestoneRunning},
	} {
		if b := f.bounds.find(since); b != nil {
			return ended.latest.sub(b.earliest) > backoffForgotten
		}
	}
	return false
}

// backoffReportedAt returns the arrival time of the first status that reported a back-off after the given run. The
// result is zero if no status reported this back-off.
func (c *containerEvidence) backoffReportedAt(run uint16) instant {
	if x := c.exitOf(int(run)); x != nil {
		return x.backoffAt
	}
	return 0
}

// undatedBackoff returns how much of a back-off can have another cause. If the kubelet began the next run before the
// usual back-off was over, the kubelet might have restarted at any time during the back-off. If the kubelet waited
// longer than the longest back-off, it was probably stopped. In this case, the kubelet might have begun an attempt
// immediately after the shortest back-off, and the Events about this attempt might be lost. Such Events can also be
// lost if Events show that the kubelet restarted before the next attempt.
func (f *fold) undatedBackoff(s Span, end milestoneKey) time.Duration {
	if s.Phase == PhaseCrashBackoff && f.beganDuringBackoff(f.index(s.Container), clampAttempt(s.Attempt)) {
		return s.Duration()
	}
	if s.Phase == PhaseImageBackoff && f.mayCutBackoff(s) {
		return s.Duration()
	}
	// The back-off can begin before the phase, because the kubelet can work on another container first.
	from, over := at(s.StartAt), at(s.StartAt)
	began, least := f.backoffBefore(s)
	if began.known() && began.latest < from {
		from, over = began.latest, began.earliest
	}
	longer := time.Duration(0)
	restarted := end.milestone == MilestonePullRequested && f.pulls[end.container].restarts.has(end.attempt)
	if at(s.EndAt).sub(from) > maxBackoff(s.Phase, s.Attempt) || restarted {
		longer = max(0, min(s.Duration(), at(s.EndAt).sub(over)-least))
	}
	if end.milestone == MilestoneContainerCreated {
		longer = max(longer, runtimeSlack, f.slowest)
	}
	return longer
}

// mayCutBackoff reports whether the kubelet might have requested an image during the back-off, because it restarted and
// forgot the back-off. Usually, an Event shows this request. But if the agent lacks the Event about the end of the same
// pull, the Event about the request might be lost too.
func (f *fold) mayCutBackoff(s Span) bool {
	index := f.index(s.Container)
	if index == podWide || s.Attempt != int(f.pulls[index].finalAttempt) ||
		f.pulls[index].requested(f.pulls[index].finalAttempt) {
		return false
	}
	used := f.e.usedBy(index)
	return used != maxInstant && f.lacksPulledEvent(index, used)
}

// backoffBefore returns when the back-off before an attempt began, and the shortest possible length of this back-off.
func (f *fold) backoffBefore(s Span) (began window, least time.Duration) {
	index := f.index(s.Container)
	switch {
	case index == podWide:
		return window{}, 0
	case s.Phase == PhaseImageBackoff:
		if failed := f.pulls[index].failureOf(clampAttempt(s.Attempt) - 1); failed != nil {
			return failed.window, failed.backoff.least
		}
		return window{}, 0
	case s.Attempt < 2:
		return window{}, 0 // the kubelet makes the first restart without delay
	}
	if ended := f.bounds.find(milestoneKey{index, clampAttempt(s.Attempt) - 1, MilestoneFinished}); ended != nil {
		began = window{earliest: ended.earliest, latest: ended.latest}
	}
	return began, imagepull.Backoff(1) // the kubelet might have forgotten earlier failures
}
