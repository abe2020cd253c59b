package timeline

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// spanError bounds the difference between the estimated and the true time between two milestones.
func (f *fold) spanError(from, to *bound) time.Duration {
	credentials := f.credentials(from, to)
	estimate := to.estimate().sub(from.estimate())
	longest := to.latest.sub(from.earliest)
	shortest := max(0, to.earliest.sub(from.latest))
	bounded := max(longest-estimate, estimate-shortest, 0)
	if message, ok := f.reportedLength(from.key, to.key); ok {
		reported := message.Pull
		if to.key.milestone == MilestonePullStarted {
			reported = message.Waiting - message.Pull
		}
		bounded = min(bounded, (estimate-reported).Abs()+message.Unit+durationSlack)
	}
	return max(bounded, credentials)
}

// credentials is how much of a pull, as the kubelet measures it, may be the run of a credential plugin. Up to 1.32 the
// kubelet counts that as pulling (pkg/kubelet/images/puller.go). The plugin had returned when the image's manifest
// arrived.
func (f *fold) credentials(from, to *bound) time.Duration {
	if from.key.milestone != MilestonePullStarted || f.e.kubelet133 || from.origins == origins(0).with(originStore) {
		return 0
	}
	began, until := from.estimate(), to.estimate()
	if image := f.e.pulledImage(f.name(from.key)); image != nil && image.layered != nil {
		if resolved := at(image.layered.ResolvedAt); !image.layered.ResolvedAt.IsZero() && resolved > began {
			until = min(until, resolved)
		}
	}
	return max(0, until.sub(began))
}

// reportedLength returns the duration between two milestones if the kubelet reported it. It is more accurate than the
// difference of timestamps.
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

// runtimeSlack usually bounds the time that the runtime takes to create a container: 500 ms were seen on a node with
// many times as much work as cores.
const runtimeSlack = 500 * time.Millisecond

// busySlack usually bounds three delays on a busy node: the runtime's delay from the timestamp of a running sandbox or
// container to its answer; the kubelet's delay from the answer that a container was created to the request to start it;
// and the runtime's delay from the last byte of a layer to the timestamp of its download. Each side dates only its own
// part.
const busySlack = 100 * time.Millisecond

// slowestStart is the longest time that the runtime took to start a container or a sandbox of the pod, if that is
// longer than on a node with enough CPU and disk bandwidth; otherwise 0. On a node that lacks them, the work of the
// kubelet and the runtime that has no timestamp takes longer too.
func (f *fold) slowestStart() time.Duration {
	longest := instant(0)
	for _, b := range f.bounds {
		began := milestoneKey{b.key.container, b.key.attempt, MilestoneContainerCreated}
		switch {
		case b.key.milestone == MilestoneSandboxRunning && b.origins.has(originStore):
			began.milestone = MilestoneNetworkReady
		case b.key.milestone != MilestoneRunning || !b.origins.has(originRuntime):
			continue
		}
		if from := f.bounds.find(began); from != nil && from.origins.has(originRuntime) {
			longest = max(longest, b.latest-from.earliest)
		}
	}
	if length := time.Duration(longest); length > runtimeSlack {
		return length
	}
	return 0
}

// undatedWork is how much of a phase may be work of another party whose start has no timestamp. There are three cases:
// the kubelet's and the runtime's work if they are merged; the creation of a container after a wait that the kubelet
// ended, or the kubelet's part of it; and the runtime's work on a sandbox before and after the network plugin, which is
// less than its work to start the sandbox.
func (f *fold) undatedWork(s Span, begin, end milestoneKey) time.Duration {
	mixed := func(p Phase) bool { return CauseOf(p) != s.Cause }
	switch {
	case s.Phase == PhaseUnattributed:
		return 0
	case slices.ContainsFunc(s.MergedWith, mixed):
		return s.Duration()
	case s.Phase == PhaseCrashBackoff || s.Phase == PhaseImageBackoff:
		longer := max(0, s.Duration()-maxBackoff(s.Phase, s.Attempt))
		if end.milestone == MilestoneContainerCreated {
			longer = max(longer, runtimeSlack, f.slowest)
		}
		return longer
	case end.milestone == MilestoneContainerCreated &&
		(begin.milestone == MilestoneConfigRefused || begin.milestone == MilestoneCreateFailed):
		return max(runtimeSlack, f.slowest, f.beyondRefusals(begin, end))
	case end.milestone == MilestoneContainerCreated:
		return max(runtimeSlack, f.slowest)
	case s.Phase == PhaseKubeletSync &&
		(begin.milestone == MilestoneSandboxRunning || begin.milestone == MilestoneRunning),
		s.Phase == PhaseContainerStart && end.milestone == MilestoneRunning,
		s.Phase == PhasePull && end.milestone == MilestonePullDownloaded:
		return busySlack
	case end.milestone == MilestoneSandboxImagePulled && s.Phase == PhaseSandboxImage:
		return runtimeSlack // the image is also unpacked
	case end.milestone == MilestoneSandboxFailed && (s.Phase == PhaseSandbox || s.Phase == PhaseSandboxImage):
		// The failed attempt began after the kubelet's wait, and other steps came before the one that failed.
		return max(0, s.Duration()-podRetryLeast)
	case end.milestone == MilestoneSandboxFailed:
		return f.kubeletAway(begin) + f.beforeFailedSandbox(end)
	case end.milestone == MilestoneScheduled && (s.Phase == PhaseScheduling || s.Phase == PhaseUnschedulable):
		return f.undatedScheduling(s)
	case end.milestone == MilestoneRetryDue && int(end.attempt) < len(f.obstacles):
		return f.obstacleUncertainty(f.obstacles[end.attempt]) + f.kubeletAway(begin)
	case end.milestone == MilestoneSandboxBegun && len(f.obstacles) > 0:
		last := f.obstacles[len(f.obstacles)-1]
		return afterObstacle(last, f.bounds.find(end).latest) + f.kubeletAway(begin)
	case end.milestone == MilestoneHeldUp:
		return f.kubeletAway(begin)
	case end.milestone == MilestoneSandboxBegun && s.Phase == PhaseVolumes && s.Duration() > mountRetryFirst &&
		f.e.watchFirstOpened.IsZero():
		return s.Duration() // obstacles may have delayed the kubelet once or twice while no watch was open
	case end.milestone == MilestoneNetworkReady && s.Phase == PhaseNetwork:
		ready, running := f.bounds.find(end), f.bounds.find(milestoneKey{podWide, end.attempt, MilestoneSandboxRunning})
		if ready != nil && running != nil {
			return min(max(runtimeSlack, f.slowest), running.latest.sub(ready.earliest))
		}
		return runtimeSlack
	}
	return 0
}

// maxBackoff is the longest that the kubelet waits before the next attempt: the back-off, and the time until its
// next sync of the pod, because it does not wake up at the end of the back-off. Any time beyond that may belong to
// another party.
func maxBackoff(phase Phase, failures int) time.Duration {
	if phase == PhaseCrashBackoff {
		failures-- // the kubelet restarts at once after the first run
	}
	return imagepull.Backoff(failures) + podRetry + retrySlack
}

// obstacleUncertainty is the part of the time from an obstacle to the kubelet's next attempt that no evidence confirms.
// The obstacle may have ended right after the Event. After a failed sandbox the kubelet waits in any case, but only the
// shortest wait is known.
func (f *fold) obstacleUncertainty(o obstacleOccurrence) time.Duration {
	if o.from.row().sandbox {
		return podRetry - podRetryLeast
	}
	return o.dueBy().sub(o.earliest)
}

// afterObstacle is how much of the time between an obstacle and a later milestone may have another cause. After a
// failed sandbox, the kubelet waits before it tries again; beyond that wait, it may have been stopped.
func afterObstacle(o obstacleOccurrence, next instant) time.Duration {
	switch {
	case o.from.row().sandbox:
		return max(0, next.sub(o.earliest)-podRetryLeast)
	case o.until() == maxInstant:
		return 0
	}
	return o.until().sub(o.latest) + retrySlack
}

// beforeFailedSandbox is afterObstacle for the obstacle before a failed sandbox; 0 if there was none.
func (f *fold) beforeFailedSandbox(failed milestoneKey) time.Duration {
	for i := 1; i < len(f.obstacles); i++ {
		if f.obstacles[i].key == failed {
			return afterObstacle(f.obstacles[i-1], f.obstacles[i].latest)
		}
	}
	return 0
}

// kubeletAway is how long the kubelet may have been stopped while an obstacle repeated after a milestone: the time that
// its Events cover, minus its own waits between them.
func (f *fold) kubeletAway(begin milestoneKey) time.Duration {
	from, away := f.bounds.find(begin), time.Duration(0)
	for i := range f.obstacleEvents {
		if h := &f.obstacleEvents[i]; from == nil || h.first.latest >= from.latest {
			away += f.beyondWaits(h)
		}
	}
	return away
}

// beyondWaits is the time from the first to the latest occurrence of an obstacle, minus the kubelet's shortest waits
// between its attempts.
func (f *fold) beyondWaits(h *obstacleEvent) time.Duration {
	least := h.row().retryLeast
	if least == nil || h.runtime || h.count < 2 {
		return 0
	}
	from := h.first.earliest
	if h.obstacle == obstacleNetworkNotReady {
		if up := f.e.networkUp; up != 0 && up < h.last.latest {
			return h.last.latest.sub(up)
		}
		if down := f.e.networkDownUntil(); down > from { // until then the runtime confirms it
			return max(0, h.last.latest.sub(down)-networkRetry)
		}
	}
	beyond := h.last.latest.sub(from)
	for n := 1; n < h.count && beyond > 0; n++ {
		beyond -= least(n)
	}
	return max(0, beyond)
}

// beyondRefusals is the time in which the kubelet could not create a container, minus its waits between attempts:
// between the attempts that Events report, and after the last known attempt.
func (f *fold) beyondRefusals(begin, end milestoneKey) time.Duration {
	from, created := f.bounds.find(begin), f.bounds.find(end)
	if from == nil || created == nil {
		return 0
	}
	last, beyond := from.latest, time.Duration(0)
	if refused := f.e.containers[begin.container].refused; refused.count > 1 && refused.last.latest > last &&
		refused.last.latest <= created.latest {
		last, beyond = refused.last.latest, refused.last.latest.sub(from.earliest)
		if refused.first.latest >= from.earliest-instant(firstCheck) { // otherwise creation failed earlier, too
			beyond = max(0, beyond-time.Duration(refused.count-1)*podRetryLeast)
		}
	}
	return beyond + max(0, created.latest.sub(last)-podRetryLeast)
}
