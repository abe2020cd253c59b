package timeline

import "slices"

// waitingFor is what a pod is in whose next mark has not come: the first step without evidence, of the
// first container that is not done.
func (f *fold) waitingFor() ([]Phase, string) {
	if f.untouched() {
		return f.nextStep(f.pod), ""
	}
	for i, c := range f.containers {
		if phases := f.nextStep(f.chains[i]); phases != nil {
			return phases, c.Name
		}
		if c.Kind == KindInit && f.crashed(c) || c.WaitingReason == "CrashLoopBackOff" {
			return []Phase{PhaseCrashBackoff}, c.Name
		}
	}
	for _, c := range f.containers {
		switch {
		case c.Kind == KindInit || c.Kind == KindImageVolume || c.Ready:
		case !c.Started:
			return []Phase{probePhase(c.StartupProbe, PhaseStartupProbe)}, c.Name
		default:
			return []Phase{probePhase(c.ReadinessProbe, PhaseReadinessProbe)}, c.Name
		}
	}
	if f.e.pod.ReadinessGates {
		return []Phase{PhaseReadinessGates}, ""
	}
	return []Phase{PhaseKubeletSync}, ""
}

// untouched says that no container shows any sign of work yet.
func (f *fold) untouched() bool {
	return !slices.ContainsFunc(f.bounds, func(b bound) bool { return b.key.container != podWide }) &&
		f.bounds.find(markKey{podWide, f.lastAttempt(podWide, MarkSandboxRunning), MarkSandboxRunning}) == nil
}

// nextStep is the phase of the first step after the last known one; none when the last one is known.
func (f *fold) nextStep(c chain) []Phase {
	next := 0
	for i, s := range c.steps {
		if f.bounds.find(s.key) != nil {
			next = i + 1
		}
	}
	if next == len(c.steps) {
		return nil
	}
	phases := []Phase{c.steps[next].phase}
	if c.steps[next].key.mark == MarkSandboxBegun && len(f.e.sandboxes) > 0 {
		return phases // kubelet tries again because of what made the last one fail
	}
	for _, s := range c.steps[next+1:] {
		if !toldInRetrospect(c.steps[next].key.mark, s.key.mark) {
			break
		}
		phases = append(phases, s.phase)
	}
	return phases
}

// toldInRetrospect says that nobody tells of the first mark before the second has come, so that while
// both are unknown the pod may be on its way to either: a runtime shows a sandbox once it runs, and
// the answer to a pull is what tells when it began.
func toldInRetrospect(first, second Mark) bool {
	switch first {
	case MarkSandboxBegun:
		return second == MarkNetworkReady || second == MarkSandboxRunning
	case MarkNetworkReady:
		return second == MarkSandboxRunning
	case MarkPullStarted:
		return second == MarkPullDownloaded || second == MarkPullFinished || second == MarkPullFailed
	}
	return false
}

// crashed says that the container's latest run ended, and not well.
func (f *fold) crashed(c *Container) bool {
	index := f.index(c.Name)
	last := f.lastAttempt(index, MarkContainerCreated, MarkRunning, MarkFinished)
	code, known := f.e.containers[index].exitCode(int(last))
	return known && code != 0
}

func (f *fold) failed() bool { return f.bounds.find(podMark(MarkFailed)) != nil }
