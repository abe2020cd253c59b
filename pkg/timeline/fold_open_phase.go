package timeline

import "slices"

// crashLoop is the reason in a container's status during back-off. The kubelet sets it only with its next attempt;
// until then, the status shows the end of the run.
const crashLoop = "CrashLoopBackOff"

// phaseCandidates is the phases that a stretch of time may be, with their container and attempt.
type phaseCandidates struct {
	phases    []Phase
	container string
	attempt   uint16
}

// openPhase is the first step without evidence, of the first container that is not done. Work on a main container
// comes before the wait for another container's next run, as on the path. A run that ended after the instant until
// counts as running.
func (f *fold) openPhase(until instant) phaseCandidates {
	if f.nothingStarted() {
		return *f.nextStep(f.pod)
	}
	var again *phaseCandidates
	for i, c := range f.containers {
		if next := f.nextStep(f.chains[i]); next != nil {
			return *next
		}
		if next := f.nextRun(c, until); next != nil && c.Kind == KindInit {
			return *next
		} else if again == nil {
			again = next
		}
	}
	if again != nil {
		return *again
	}
	for _, c := range f.containers {
		probing := phaseCandidates{container: c.Name, attempt: clampAttempt(c.Attempt)}
		switch {
		case c.Kind == KindInit || c.Kind == KindImageVolume || c.Ready:
		case !c.Started:
			probing.phases = []Phase{probePhase(c.StartupProbe, PhaseStartupProbe)}
			return probing
		default:
			probing.phases = []Phase{probePhase(c.ReadinessProbe, PhaseReadinessProbe)}
			return probing
		}
	}
	if f.e.pod.ReadinessGates {
		return phaseCandidates{phases: []Phase{PhaseReadinessGates}}
	}
	return phaseCandidates{phases: []Phase{PhaseKubeletSync}}
}

// nextRun is the wait for a container's next run; nil if it did not crash, or did not end by itself.
func (f *fold) nextRun(c *Container, until instant) *phaseCandidates {
	if !f.restarts(c) && c.WaitingReason != crashLoop {
		return nil
	}
	index := f.index(c.Name)
	last := f.lastAttempt(index, MilestoneContainerCreated, MilestoneRunning, MilestoneFinished)
	if finished := f.bounds.find(milestoneKey{index, last, MilestoneFinished}); finished != nil &&
		(finished.estimate() > until || f.killed(index, last)) {
		return nil
	}
	attempt := last + 1
	phase := beforeRun(attempt)
	if c.WaitingReason == crashLoop {
		phase = PhaseCrashBackoff
	}
	return &phaseCandidates{[]Phase{phase}, c.Name, attempt}
}

// nothingStarted reports whether there is no sign of work on any container.
func (f *fold) nothingStarted() bool {
	return !slices.ContainsFunc(f.bounds, func(b bound) bool { return b.key.container != podWide }) &&
		f.bounds.find(milestoneKey{podWide, f.lastAttempt(podWide, MilestoneSandboxRunning),
			MilestoneSandboxRunning}) == nil
}

// nextStep is the first step after the last known one; nil if the last step is known.
func (f *fold) nextStep(c chain) *phaseCandidates {
	next := 0
	for i, s := range c.steps {
		if f.bounds.find(s.key) != nil {
			next = i + 1
		}
	}
	if next == len(c.steps) {
		return nil
	}
	key := c.steps[next].key
	w := &phaseCandidates{[]Phase{c.steps[next].phase}, c.container, key.attempt}
	w.add(c.steps[next].also...)
	if n := len(f.obstacles); key.milestone == MilestoneSandboxBegun && n > 0 &&
		f.bounds.find(retryMilestone(n-1)) == nil {
		return w // the kubelet retries for the reason for which the last attempt failed
	}
	for _, s := range c.steps[next+1:] {
		if !reportedOnlyAfter(key.milestone, s.key.milestone) {
			break
		}
		w.add(s.phase)
		w.add(s.also...)
	}
	return w
}

// add adds phases that are also possible.
func (w *phaseCandidates) add(phases ...Phase) {
	for _, p := range phases {
		if !slices.Contains(w.phases, p) {
			w.phases = append(w.phases, p)
		}
	}
}

// reportedOnlyAfter reports whether the first milestone is reported only after the second. While both are unknown, the
// pod may be in either step: the runtime shows a sandbox only once it runs, and the answer to a pull dates the start of
// the pull.
func reportedOnlyAfter(first, second Milestone) bool {
	switch first {
	case MilestoneSandboxBegun:
		return second == MilestoneNetworkReady || second == MilestoneSandboxRunning
	case MilestoneNetworkReady:
		return second == MilestoneSandboxRunning
	case MilestonePullStarted:
		return second == MilestonePullDownloaded || second == MilestonePullFinished || second == MilestonePullFailed
	}
	return false
}

// restarts reports whether the container's latest run ended and the kubelet will start it again, because it failed
// or because it always restarts.
func (f *fold) restarts(c *Container) bool {
	index := f.index(c.Name)
	last := f.lastAttempt(index, MilestoneContainerCreated, MilestoneRunning, MilestoneFinished)
	code, known := f.e.containers[index].exitCode(int(last))
	return known && (code != 0 || c.RestartsAlways && c.Kind != KindInit)
}

func (f *fold) failed() bool { return f.bounds.find(podMilestone(MilestoneFailed)) != nil }
