package timeline

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// end says how far start-up has come and where it ends.
func (f *fold) end(path []boundary) (State, *bound) {
	if b := f.bounds.find(podMark(MarkReady)); b != nil {
		return StateReady, b
	}
	if b := f.bounds.find(podMark(MarkSucceeded)); b != nil {
		// Start-up was over when the last container ran; how long it ran is its own business.
		for _, last := range slices.Backward(path) {
			if last.bound.key.mark == MarkRunning {
				return StateSucceeded, last.bound
			}
		}
		return StateSucceeded, b
	}
	failed, deleted := f.bounds.find(podMark(MarkFailed)), f.bounds.find(podMark(MarkDeleted))
	switch {
	case deleted != nil && (failed == nil || deleted.estimate() < failed.estimate()):
		return StateDeleted, deleted // that its containers then fail is what deletion does
	case failed != nil:
		return StateFailed, failed
	}
	if f.e.givenUp(f.asOf.time()) {
		until := at(f.e.firstSeen.at.Add(giveUpAfter))
		return StateGivenUp, &bound{earliest: until, latest: until}
	}
	return StateStarting, &bound{earliest: f.asOf, latest: f.asOf}
}

// spans partitions the time from start to end: every stretch between two neighboring boundaries is
// one phase. A step that took no time is one too: its error says how sure that is.
func (f *fold) spans(path []boundary, start, end *bound, state State) []Span {
	spans := make([]Span, 0, len(path)+1)
	from := start
	to := max(end.estimate(), start.estimate())
	for _, b := range path {
		if b.bound.estimate() > to && b.phases[0] == PhaseFailedRun {
			continue // it still ran at the end
		}
		at := min(b.bound.estimate(), to)
		if at < from.estimate() {
			continue // overtaken by other work
		}
		if at == from.estimate() && b.phases[0] == PhaseKubeletSync {
			from = b.bound // a gap of no length; what follows begins where it ended
			continue
		}
		until := b.bound
		if b.bound.estimate() > to {
			until = end // cut short by it
		}
		w := phaseCandidates{b.phases, b.container, b.attempt}
		if f.runsMissing(from.key, b.bound.key) {
			w = phaseCandidates{phases: []Phase{PhaseUnattributed}}
		}
		spans = append(spans, f.span(from, until, at, w))
		from = b.bound
		if at == to {
			return spans
		}
	}
	if to > from.estimate() {
		w := f.openPhase(to)
		switch {
		case f.e.overflow:
			w = phaseCandidates{phases: []Phase{PhaseUnattributed}} // attempts that were not kept lie in there
		case state == StateFailed && f.failedAfterRun(from.key):
			w = phaseCandidates{[]Phase{PhaseKubeletSync}, f.name(from.key), from.key.attempt}
		}
		last := f.span(from, end, to, w)
		if last.Open = state == StateStarting; last.Open {
			f.open = from
		}
		spans = append(spans, last)
	}
	return spans
}

// runsMissing says that runs that were not kept lie between one container's mark and the mark of what follows: the containers
// after it had to wait for it to pass, and in none of its runs that are known it did.
func (f *fold) runsMissing(from, next markKey) bool {
	if from.container == podWide || from.container == next.container || !f.e.containers[from.container].overflow {
		return false
	}
	c := f.e.specOf(from.container)
	if c == nil || c.Kind == KindEphemeral {
		return false
	}
	came := f.containerReached(c)
	return came.BeforeMain() && came.PassedAt().IsZero()
}

func (f *fold) span(from, to *bound, until instant, w phaseCandidates) Span {
	phase, merged := charge(w.phases)
	s := Span{
		Phase: phase, Cause: CauseOf(phase), MergedWith: merged, Container: w.container,
		StartAt: from.estimate().time(), EndAt: until.time(), Error: f.spanError(from, to),
	}
	if w.container != "" {
		s.Attempt = int(w.attempt)
	}
	s.Error = max(s.Error, min(max(f.undatedWork(s, from.key, to.key), f.slowest/2), s.Duration()))
	s.Sources = (from.origins | to.origins).sources()
	return s
}

// runtimeSlack bounds, as a rule, how long the runtime takes to create a container: 500 ms were seen on a node with many times
// as much to do as it has cores.
const runtimeSlack = 500 * time.Millisecond

// busySlack is how long, as a rule, on a busy node the runtime takes from the stamp of a sandbox that runs to its answer, kubelet from
// the answer that a container was created to asking for its start, and the runtime from the last byte of a layer to the stamp of its
// download: neither dates its part alone.
const busySlack = 100 * time.Millisecond

// slowestStart is the longest time that the runtime took to start a container or a sandbox of the pod, if that is longer than it takes on a
// node that is not short of processors or of disk; else 0. On one that is, whatever kubelet and the runtime do without a stamp
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

// undatedWork is how much of a phase may be somebody else's work of which no stamp tells the beginning: kubelet's and the
// runtime's, where they are merged; the creation of a container after a wait that kubelet ended, or kubelet's own part of it; and what the runtime does
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
		return max(0, s.Duration()-podRetryLeast) // the try that failed began after kubelet's wait, with other steps first
	case end.mark == MarkScheduled && (s.Phase == PhaseScheduling || s.Phase == PhaseUnschedulable):
		return f.undatedScheduling(s)
	case end.mark == MarkRetryDue && int(end.attempt) < len(f.obstacles):
		return f.obstacleUncertainty(f.obstacles[end.attempt])
	case end.mark == MarkSandboxBegun && len(f.obstacles) > 0:
		return f.afterLastObstacle()
	case end.mark == MarkSandboxBegun && s.Phase == PhaseVolumes && s.Duration() > mountRetryFirst && f.e.watchFirstOpened.IsZero():
		return s.Duration() // kubelet may have been held up once or twice, and nobody listened
	case end.mark == MarkNetworkReady && s.Phase == PhaseNetwork:
		ready, running := f.bounds.find(end), f.bounds.find(markKey{podWide, end.attempt, MarkSandboxRunning})
		if ready != nil && running != nil {
			return min(max(runtimeSlack, f.slowest), running.latest.sub(ready.earliest))
		}
		return runtimeSlack
	}
	return 0
}

// maxBackoff is how long kubelet waits at most before it tries again: the back-off and, since it does not wake for its end, until it
// takes the pod up the next time. What is longer than that somebody else may have taken.
func maxBackoff(phase Phase, failures int) time.Duration {
	if phase == PhaseCrashBackoff {
		failures-- // after the first run kubelet does not wait
	}
	return imagepull.Backoff(failures) + podRetry + retrySlack
}

// obstacleUncertainty is how long nobody vouches for an obstacle before kubelet was due to try again: kubelet may have stopped as soon as it
// had named it. What follows a failed sandbox is kubelet's back-off, which the sandbox's failure caused.
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
		return 0 // kubelet goes on with the sandbox
	}
	return last.until().sub(last.latest) + retrySlack
}

// failedAfterRun says that a pod that failed did so with the end of a run: kubelet runs nothing again, and what is left is the
// way to its status. Not so if the container waited for its next run when something else ended the pod.
func (f *fold) failedAfterRun(k markKey) bool {
	return k.mark == MarkFinished && !slices.ContainsFunc(f.containers, func(c *Container) bool {
		return c.Name == f.name(k) && c.WaitingReason == crashLoop
	})
}

// charge names a stretch that may hold several phases. Neighbors of one cause go under the first one's
// name, and so do kubelet's and the runtime's, who work hand in hand. Where different parties could be
// to blame, nobody is.
func charge(phases []Phase) (name Phase, merged []Phase) {
	party := func(p Phase) Cause {
		if cause := CauseOf(p); cause != CauseRuntime {
			return cause
		}
		return CauseKubelet
	}
	name, merged = phases[0], phases[1:]
	for _, p := range merged {
		if party(p) != party(name) {
			return PhaseUnattributed, phases
		}
	}
	return name, merged
}
