package timeline

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// spanError bounds how far the estimated length between two marks can be from the truth.
func (f *fold) spanError(from, to *bound) time.Duration {
	credentials := f.credentials(from, to)
	estimate := to.estimate().sub(from.estimate())
	longest := to.latest.sub(from.earliest)
	shortest := max(0, to.earliest.sub(from.latest))
	bounded := max(longest-estimate, estimate-shortest, 0)
	if message, ok := f.reportedLength(from.key, to.key); ok {
		reported := message.Pull
		if to.key.mark == MarkPullStarted {
			reported = message.Waiting - message.Pull
		}
		bounded = min(bounded, (estimate-reported).Abs()+message.Unit+durationSlack)
	}
	return max(bounded, credentials)
}

// credentials is how much of a pull, from the kubelet's own start of it, may be the run of a credential plugin: the kubelet up to 1.32
// counts that as pulling (pkg/kubelet/images/puller.go). The plugin had returned when the image's manifest came.
func (f *fold) credentials(from, to *bound) time.Duration {
	if from.key.mark != MarkPullStarted || f.e.kubelet133 || from.origins == origins(0).with(originStore) {
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

// reportedLength says that the kubelet told the length between two marks itself, which is nearer to the truth
// than the difference of their stamps.
func (f *fold) reportedLength(from, to markKey) (pullLengths, bool) {
	if from.container == podWide || from.container != to.container || f.pulls[from.container].finalAttempt != to.attempt {
		return pullLengths{}, false
	}
	reported := f.pulls[from.container].pulled.lengths
	switch {
	case from.mark == MarkPullStarted && to.mark == MarkPullFinished && f.pulls[from.container].eventOnTime(),
		from.mark == MarkPullRequested && to.mark == MarkPullStarted && reported.WaitingTimed:
		return reported, reported.Timed
	}
	return pullLengths{}, false
}

// runtimeSlack bounds, as a rule, how long the runtime takes to create a container: 500 ms were seen on a node with many times
// as much to do as it has cores.
const runtimeSlack = 500 * time.Millisecond

// busySlack is how long, as a rule, on a busy node the runtime takes from the stamp of a sandbox that runs to its answer, the kubelet from
// the answer that a container was created to asking for its start, and the runtime from the last byte of a layer to the stamp of its
// download: neither dates its part alone.
const busySlack = 100 * time.Millisecond

// slowestStart is the longest time that the runtime took to start a container or a sandbox of the pod, if that is longer than it takes on a
// node that is not short of processors or of disk; else 0. On one that is, whatever the kubelet and the runtime do without a stamp
// takes longer, too.
func (f *fold) slowestStart() time.Duration {
	longest := instant(0)
	for _, b := range f.bounds {
		began := markKey{b.key.container, b.key.attempt, MarkContainerCreated}
		switch {
		case b.key.mark == MarkSandboxRunning && b.origins.has(originStore):
			began.mark = MarkNetworkReady
		case b.key.mark != MarkRunning || !b.origins.has(originRuntime):
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

// undatedWork is how much of a phase may be somebody else's work of which no stamp tells the beginning: the kubelet's and the
// runtime's, where they are merged; the creation of a container after a wait that the kubelet ended, or the kubelet's own part of it; and what the runtime does
// for a sandbox before and after it calls the network plugin, which is less than what it does to start it.
func (f *fold) undatedWork(s Span, begin, end markKey) time.Duration {
	mixed := func(p Phase) bool { return CauseOf(p) != s.Cause }
	switch {
	case s.Phase == PhaseUnattributed:
		return 0
	case slices.ContainsFunc(s.MergedWith, mixed):
		return s.Duration()
	case s.Phase == PhaseCrashBackoff || s.Phase == PhaseImageBackoff:
		longer := max(0, s.Duration()-maxBackoff(s.Phase, s.Attempt))
		if end.mark == MarkContainerCreated {
			longer = max(longer, runtimeSlack, f.slowest)
		}
		return longer
	case end.mark == MarkContainerCreated:
		return max(runtimeSlack, f.slowest)
	case begin.mark == MarkSandboxRunning && s.Phase == PhaseKubeletSync,
		end.mark == MarkRunning && s.Phase == PhaseContainerStart, end.mark == MarkPullDownloaded && s.Phase == PhasePull:
		return busySlack
	case end.mark == MarkSandboxImagePulled && s.Phase == PhaseSandboxImage:
		return runtimeSlack // it is unpacked, too
	case end.mark == MarkSandboxFailed && (s.Phase == PhaseSandbox || s.Phase == PhaseSandboxImage):
		return max(0, s.Duration()-podRetryLeast) // the try that failed began after the kubelet's wait, with other steps first
	case end.mark == MarkScheduled && (s.Phase == PhaseScheduling || s.Phase == PhaseUnschedulable):
		return f.undatedScheduling(s)
	case end.mark == MarkRetryDue && int(end.attempt) < len(f.obstacles):
		return f.obstacleUncertainty(f.obstacles[end.attempt])
	case end.mark == MarkSandboxBegun && len(f.obstacles) > 0:
		return f.afterLastObstacle()
	case end.mark == MarkSandboxBegun && s.Phase == PhaseVolumes && s.Duration() > mountRetryFirst && f.e.watchFirstOpened.IsZero():
		return s.Duration() // the kubelet may have been held up once or twice, and nobody listened
	case end.mark == MarkNetworkReady && s.Phase == PhaseNetwork:
		ready, running := f.bounds.find(end), f.bounds.find(markKey{podWide, end.attempt, MarkSandboxRunning})
		if ready != nil && running != nil {
			return min(max(runtimeSlack, f.slowest), running.latest.sub(ready.earliest))
		}
		return runtimeSlack
	}
	return 0
}

// maxBackoff is how long the kubelet waits at most before it tries again: the back-off and, since it does not wake for its end, until it
// takes the pod up the next time. What is longer than that somebody else may have taken.
func maxBackoff(phase Phase, failures int) time.Duration {
	if phase == PhaseCrashBackoff {
		failures-- // after the first run the kubelet does not wait
	}
	return imagepull.Backoff(failures) + podRetry + retrySlack
}

// obstacleUncertainty is how long nobody vouches for an obstacle before the kubelet was due to try again: the kubelet may have stopped as soon as it
// had named it. What follows a failed sandbox is the kubelet's back-off, which the sandbox's failure caused.
func (f *fold) obstacleUncertainty(o obstacleOccurrence) time.Duration {
	if o.from.row().sandbox {
		return 0
	}
	return o.dueBy().sub(o.earliest)
}

// afterLastObstacle is how long something else may have been in the way after the last obstacle before the sandbox.
func (f *fold) afterLastObstacle() time.Duration {
	last := f.obstacles[len(f.obstacles)-1]
	if last.from.row().sandbox || last.until() == maxInstant {
		return 0 // the kubelet goes on with the sandbox
	}
	return last.until().sub(last.latest) + retrySlack
}
