package timeline

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// spanError returns the error bound of the estimated time between two milestones.
func (f *fold) spanError(from, to *bound) time.Duration {
	credentials := f.credentialTime(from, to)
	estimate := to.estimate().sub(from.estimate())
	longest := to.latest.sub(f.earliestSinceCreation(from))
	shortest := max(0, to.earliest.sub(from.latest))
	bounded := max(longest-estimate, estimate-shortest, 0)
	if reported, ok := f.reportedError(from, to); ok {
		bounded = min(bounded, reported)
	}
	return withCredentials(bounded, credentials, estimate)
}

// withCredentials adds the longest possible run of a credential plugin to the error bound of a duration. Because of the
// plugin, the true duration can be shorter than the reported duration, but never longer.
func withCredentials(bounded, credentials, duration time.Duration) time.Duration {
	return max(bounded, min(bounded+credentials, duration))
}

// credentialTime returns the part of a pull's measured duration that a credential plugin might have used. Kubelets up
// to 1.32 count the plugin's run as part of the pull (pkg/kubelet/images/puller.go). The credential plugin ends before
// the image's manifest arrives, so the result is at most the time until this arrival. But if the image was pulled more
// than once, the manifest can belong to another pull and sets no limit. For failed pulls, see failedCredentialTime.
func (f *fold) credentialTime(from, to *bound) time.Duration {
	if from.key.milestone != MilestonePullStarted || f.e.kubelet133 || from.origins == origins(0).with(originStore) {
		return 0
	}
	began, until := from.estimate(), to.estimate()
	if image := f.pulledImage(f.name(from.key)); image != nil && image.withLayers != nil && image.pulledOnce() {
		if resolved := at(image.withLayers.ResolvedAt); !image.withLayers.ResolvedAt.IsZero() && resolved > began {
			until = min(until, resolved)
		}
	}
	return max(0, until.sub(began))
}

// reportedLength returns the duration between two milestones if the kubelet reported the duration. The reported
// duration is more accurate than the difference between the timestamps.
func (f *fold) reportedLength(from, to milestoneKey) (pullLengths, bool) {
	if from.container == podWide || from.container != to.container ||
		f.pulls[from.container].finalAttempt != to.attempt {
		return pullLengths{}, false
	}
	reported := f.pulls[from.container].pulled.lengths
	switch {
	case from.milestone == MilestonePullStarted && to.milestone == MilestonePullFinished &&
		f.pulls[from.container].eventOnTime(),
		from.milestone == MilestonePullRequested && to.milestone == MilestonePullStarted && reported.WaitingTimed:
		return reported, reported.Timed
	}
	return pullLengths{}, false
}

// runtimeSlack is the usual maximum time that the runtime needs to create a container. The longest observed creation
// took 500 ms, on a node whose load was many times its number of cores.
const runtimeSlack = 500 * time.Millisecond

// busySlack is the usual maximum for each of two delays:
//   - the time from the runtime's response about a created container to the kubelet's request to start this container,
//     if the start is short
//   - the time from the arrival of a layer's last byte to the runtime's timestamp for this layer
const busySlack = 100 * time.Millisecond

// slowestStart returns the longest time that the runtime needed to start a container or sandbox of the pod. For a time
// up to runtimeSlack, slowestStart returns 0, because such a time is normal for a node with enough CPU and disk
// bandwidth. On a node that lacks CPU or disk bandwidth, all work of the kubelet and the runtime takes longer,
// including work without timestamps.
func (f *fold) slowestStart() time.Duration {
	longest := time.Duration(0)
	for _, b := range f.bounds {
		began := milestoneKey{b.key.container, b.key.attempt, MilestoneContainerCreated}
		switch {
		case b.key.milestone == MilestoneSandboxRunning && b.origins.has(originStore):
			began.milestone = MilestoneNetworkReady
		case b.key.milestone != MilestoneRunning || !b.origins.has(originRuntime):
			continue
		}
		if from := f.bounds.find(began); from != nil && from.origins.has(originRuntime) {
			longest = max(longest, b.latest.sub(from.earliest))
		}
	}
	if longest > runtimeSlack {
		return longest
	}
	return 0
}

// undatedWork returns how much of a phase can have a cause other than s.Cause. No timestamp separates the work of the
// two causes. The main cases are:
//   - a phase that can contain work of both the kubelet and the runtime
//   - a wait of the kubelet that ends with the creation of a container: the creation is work of the runtime
//   - PhaseContainerCreate: its cause is the runtime, but the phase begins with work of the kubelet
//   - PhaseNetwork: its cause is the network, but the runtime also works on the sandbox before and after the network
//     plugin. This work takes less time than the step from MilestoneNetworkReady to MilestoneSandboxRunning.
func (f *fold) undatedWork(s Span, begin, end milestoneKey) time.Duration {
	mixed := func(p Phase) bool { return CauseOf(p) != s.Cause }
	switch {
	case s.Phase == PhaseUnattributed:
		return 0
	case f.undatedKill(s), f.undatedStart(s), undatedLoss(s, begin, end):
		return s.Duration()
	case !s.Phase.IsGroup() && slices.ContainsFunc(s.MergedWith, mixed):
		return s.Duration()
	case begin.milestone == MilestoneNameRefused || begin.milestone == MilestoneInspectFailed:
		return max(f.timeBeyondRefusals(s, begin, end), f.slowest)
	case s.Phase == PhaseCrashBackoff || s.Phase == PhaseImageBackoff:
		return max(f.undatedBackoff(s, end), f.lookupAfterBackoff(s, begin))
	case begin.milestone == MilestoneConfigRefused || begin.milestone == MilestoneCreateFailed:
		beyond := max(f.timeBeyondRefusals(s, begin, end), f.otherRefusalDelay(begin))
		if end.milestone != MilestoneContainerCreated {
			return beyond
		}
		return max(runtimeSlack, f.slowest, beyond)
	case f.mayHideRepeatedProbe(s, begin, end):
		return s.Duration()
	case end.milestone == MilestoneContainerCreated && s.Phase == PhaseContainerConfig:
		return max(runtimeSlack, f.slowest, f.timeBeyondRefusals(s, begin, end))
	case end.milestone == MilestoneContainerCreated:
		return max(runtimeSlack, f.slowest)
	case s.Phase == PhasePostStartHook:
		// No source reports when the hook returned. A restarted kubelet does not wait for the hook again. So the phase
		// can include time in which the kubelet was stopped. After the hook, the kubelet can look up registry
		// credentials for the next container.
		return s.Duration()
	case s.Phase == PhaseKubeletSync && s.Duration() > statusPatience && (end.milestone == MilestonePullRequested ||
		end.milestone == MilestonePullFinished && f.pulledImage(f.name(end)) != nil):
		// The kubelet usually starts to work on the image within statusPatience after the beginning of this phase. If
		// the kubelet restarted, it might have requested the image before the restart. The Events about that request
		// might be lost.
		return s.Duration()
	case s.Phase == PhaseKubeletSync &&
		(begin.milestone == MilestoneSandboxRunning || begin.milestone == MilestoneRunning):
		// No source reports when the runtime responded to the kubelet. On a busy node, containerd responded 267 ms
		// after its timestamp for the start of the sandbox.
		return s.Duration()
	case s.Phase == PhaseContainerStart && end.milestone == MilestoneRunning:
		// A long start often means that the node is busy. On a busy node, the kubelet took 156 ms of a phase of 261 ms.
		return min(max(busySlack, s.Duration()*3/5), runtimeSlack)
	case s.Phase == PhasePull && end.milestone == MilestonePullDownloaded:
		return busySlack
	case end.milestone == MilestoneSandboxImagePulled && s.Phase == PhaseSandboxImage:
		return runtimeSlack // the phase includes the time in which the runtime unpacks the image
	case end.milestone == MilestoneSandboxFailed && (s.Phase == PhaseSandbox || s.Phase == PhaseSandboxImage):
		// The phase includes the kubelet's wait of at least podRetryLeast before the failed attempt. The rest of the
		// phase can include other steps of the failed attempt. So the whole rest counts as the error bound.
		return max(0, s.Duration()-podRetryLeast)
	case end.milestone == MilestoneSandboxFailed:
		return f.maxKubeletAbsence(begin) + f.otherCauseBeforeFailedSandbox(end)
	case end.milestone == MilestoneScheduled && (s.Phase == PhaseScheduling || s.Phase == PhaseUnschedulable):
		return f.undatedScheduling(s)
	case end.milestone == MilestoneRetryDue && int(end.attempt) < len(f.obstacles):
		return f.obstacleUncertainty(f.obstacles[end.attempt]) + f.maxKubeletAbsence(begin)
	case end.milestone == MilestoneSandboxBegun && len(f.obstacles) > 0:
		last := f.obstacles[len(f.obstacles)-1]
		return otherCauseAfterObstacle(last, f.bounds.find(end).latest) + f.maxKubeletAbsence(begin)
	case end.milestone == MilestoneHeldUp:
		return f.maxKubeletAbsence(begin)
	case mountsVolumes(s, end) && s.Duration() > mountRetryFirst &&
		f.e.watchFirstOpened.IsZero():
		return s.Duration() // unknown obstacles might have delayed the kubelet while no watch was open
	case mountsVolumes(s, end) && s.Duration() > mountRetryFirst:
		return f.missedObstacles(s, begin)
	case end.milestone == MilestoneNetworkReady && s.Phase == PhaseNetwork:
		ready, running := f.bounds.find(end), f.bounds.find(milestoneKey{podWide, end.attempt, MilestoneSandboxRunning})
		if ready != nil && running != nil {
			return min(max(runtimeSlack, f.slowest), running.latest.sub(ready.earliest))
		}
		return runtimeSlack
	}
	return 0
}

// mountsVolumes reports whether the kubelet mounted the pod's volumes during the phase s. The argument "end" is the
// milestone at the end of the phase.
func mountsVolumes(s Span, end milestoneKey) bool {
	return end.milestone == MilestoneSandboxBegun && s.Phase == PhaseVolumes ||
		s.Phase == PhaseSandboxSetup && slices.Contains(s.MergedWith, PhaseVolumes)
}

// undatedSandboxWork returns how long the runtime might have worked on a sandbox before the milestone "end". containerd
// 1.x creates the record of a sandbox after it has prepared the sandbox's file system. No source reports when the
// runtime starts to prepare the file system.
func (f *fold) undatedSandboxWork(end milestoneKey) time.Duration {
	if end.milestone == MilestoneSandboxBegun && f.e.imageFirst.has(end.attempt) {
		return max(runtimeSlack, f.slowest)
	}
	return 0
}

// undatedRetry handles the phase after the last obstacle if no timestamp shows when the sandbox began. It returns how
// much of the phase can have another cause. The phase ends with a later step of the runtime's work on the sandbox. The
// kubelet might have been stopped during the phase, as in a phase that ends when the sandbox begins.
func (f *fold) undatedRetry(s Span, begin, end milestoneKey) time.Duration {
	if s.Phase == PhaseUnattributed || len(f.obstacles) == 0 {
		return 0
	}
	switch end.milestone {
	case MilestoneNetworkReady, MilestoneSandboxImageResolved, MilestoneSandboxImagePulled, MilestoneSandboxRunning:
		if last := f.obstacles[len(f.obstacles)-1]; last.key == begin {
			return otherCauseAfterObstacle(last, f.bounds.find(end).latest) + f.maxKubeletAbsence(begin)
		}
	}
	return 0
}

// missedObstacles returns the part of a phase before the sandbox that unknown obstacles might have caused. The agent
// might have missed Events about obstacles if the Event watch began after the kubelet picked up the pod. The kubelet
// doubles its wait after each failure. So the wait during which the watch began is at most as long as all earlier waits
// together, plus the first wait.
func (f *fold) missedObstacles(s Span, begin milestoneKey) time.Duration {
	until, from := f.e.eventsMissedUntil(), f.bounds.find(begin)
	if until == 0 || from == nil || until <= from.earliest {
		return 0
	}
	return min(s.Duration(), 2*until.sub(from.earliest)+mountRetryFirst+retrySlack)
}

// maxBackoff returns the longest normal wait of the kubelet before its next attempt. The end of the back-off does not
// wake the kubelet. So the wait is the back-off plus the time until the kubelet next syncs the pod. If the kubelet
// waits longer, the back-off does not explain the additional time.
func maxBackoff(phase Phase, failures int) time.Duration {
	if phase == PhaseCrashBackoff {
		failures-- // the kubelet restarts the container without delay after the first run
	}
	return imagepull.Backoff(failures) + podRetry + retrySlack
}

// obstacleUncertainty returns how long the kubelet might have waited for its next attempt after an obstacle was over.
// The obstacle might have ended immediately after the Event. After a failed sandbox, the kubelet always waits at least
// podRetryLeast, so only the rest of the wait is uncertain.
func (f *fold) obstacleUncertainty(o obstacleOccurrence) time.Duration {
	if o.from.row().sandboxFailed {
		return podRetry - podRetryLeast
	}
	return o.dueBy().sub(o.earliest)
}

// otherCauseAfterObstacle returns how much of the time from an obstacle to a later milestone can have another cause.
// After a failed sandbox, the kubelet waits at least podRetryLeast before its next attempt. In the rest of the time
// until the milestone, the kubelet might have been stopped.
func otherCauseAfterObstacle(o obstacleOccurrence, next instant) time.Duration {
	switch {
	case o.from.row().sandboxFailed:
		return max(0, next.sub(o.earliest)-podRetryLeast)
	case o.from.latestRetry() == maxInstant:
		return 0
	}
	return o.from.latestRetry().sub(o.latest) + retrySlack
}

// otherCauseBeforeFailedSandbox returns the result of otherCauseAfterObstacle for the last obstacle before a failed
// sandbox. If there was no earlier obstacle, otherCauseBeforeFailedSandbox returns 0.
func (f *fold) otherCauseBeforeFailedSandbox(failed milestoneKey) time.Duration {
	for i := 1; i < len(f.obstacles); i++ {
		if f.obstacles[i].key == failed {
			return otherCauseAfterObstacle(f.obstacles[i-1], f.obstacles[i].latest)
		}
	}
	return 0
}

// maxKubeletAbsence returns the longest time for which the kubelet might have been stopped. The result is the sum of
// timeBeyondWaits for all obstacles that the kubelet first reported after the milestone "begin".
func (f *fold) maxKubeletAbsence(begin milestoneKey) time.Duration {
	from, away := f.bounds.find(begin), time.Duration(0)
	for i := range f.obstacleEvents {
		if h := &f.obstacleEvents[i]; from == nil || h.first.latest >= from.latest {
			away += f.timeBeyondWaits(h)
		}
	}
	return away
}

// timeBeyondWaits returns the time from the first to the latest occurrence of an obstacle, minus the kubelet's minimum
// waits between its attempts.
func (f *fold) timeBeyondWaits(h *obstacleEvent) time.Duration {
	least := h.row().retryLeast
	if least == nil || h.fromRuntime || h.count < 2 {
		return 0
	}
	from := h.first.earliest
	if h.obstacle == obstacleNetworkNotReady {
		if up := f.e.networkUp; up != 0 && up < h.last.latest {
			return h.last.latest.sub(up)
		}
		if down := f.e.networkDownUntil(); down > from { // the runtime confirms that the obstacle lasted until "down"
			return max(0, h.last.latest.sub(down)-networkRetry)
		}
	}
	beyond := h.last.latest.sub(from)
	for n := 1; n < h.count && beyond > 0; n++ {
		beyond -= least(n)
	}
	return max(0, beyond)
}
