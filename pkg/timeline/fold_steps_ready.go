package timeline

// readySteps returns the last steps before the pod is ready. The first step begins with the start of the container that
// became ready last. readySteps returns no steps if no container was ready. If another container had already lost its
// readiness, a second list of steps (chain) contains the steps after the last container became ready.
func (f *fold) readySteps() []chain {
	last := f.readyLast()
	if last == nil {
		return nil
	}
	index := f.index(last.Name)
	attempt := f.readyRun(index)
	name, also := last.Name, f.alsoReadyLast(last)
	if len(also) > 0 {
		name = ""
	}
	steps := make([]step, 0, 4)
	// Without a startup probe, the kubelet reports a container as started as soon as the container runs. The chain of a
	// sidecar already contains its startup probe, because the next containers wait for this probe. But the next
	// containers do not wait for the probes of the sidecar's later runs.
	if last.StartupProbe && (last.Kind != KindSidecar || attempt > f.lastRun(last)) {
		started := step{key: milestoneKey{index, attempt, MilestoneStarted}, phase: PhaseStartupProbe}
		started.undated = name == "" || last.ReadinessProbe &&
			f.learnedTooLate(started.key, podMilestone(MilestoneContainersReady))
		steps = append(steps, started)
	}
	own := step{key: milestoneKey{index, attempt, MilestoneContainerReady},
		phase: probePhase(last.ReadinessProbe, PhaseReadinessProbe), also: also}
	if ended := f.endedBefore(own.key); ended != nil {
		// The ended container might keep the pod from becoming ready. But the pod also waited until the container
		// "last" was ready.
		if f.mayEndForGood(ended, f.asOf) {
			own.also = uniquePhases(also, []Phase{phaseBeforeRun(clampAttempt(ended.Attempt) + 1)})
		}
		return []chain{{name, append(steps, own), attempt, true}}
	}
	// The timestamp of the condition ContainersReady shows when the last container became ready.
	all := step{key: podMilestone(MilestoneContainersReady), phase: own.phase, also: also}
	if f.lostBefore(own.key) {
		regained := chain{steps: f.stepsWithGates(nil, f.regainedStep(last)), probes: true}
		if c := f.onlyReadinessProbe(); c != nil && c != last {
			regained.container, regained.attempt = c.Name, f.readyRun(f.index(c.Name))
		}
		return []chain{{name, append(steps, own), attempt, true}, regained}
	}
	return []chain{{name, f.stepsWithGates(steps, all), attempt, true}}
}

// stepsWithGates appends the step "all", which ends when all containers are ready for the first time, and the steps
// until the pod is ready. If all containers became ready again while the pod waited for its readiness gates, two steps
// instead of one follow the step "all".
func (f *fold) stepsWithGates(steps []step, all step) []step {
	ready := step{key: podMilestone(MilestoneReady), phase: f.lastPhase()}
	steps = append(steps, all)
	if f.e.pod.ReadinessGates && f.bounds.find(readyAgain) != nil {
		steps = append(steps, step{key: readyAgain, phase: ready.phase, also: f.phasesWithGates()})
		if len(f.e.readyTimes) == maxReadyTimes {
			ready.also = f.phasesWithGates()
		}
	}
	return append(steps, ready)
}

// lastPhase returns the phase from the readiness of all containers until the readiness of the pod.
func (f *fold) lastPhase() Phase {
	if f.e.pod.ReadinessGates {
		return PhaseReadinessGates
	}
	return PhaseKubeletSync // without readiness gates
}

// endedBefore returns a container that ended before the milestone k, and that the kubelet might not start again. If
// there is no such container, endedBefore returns nil.
func (f *fold) endedBefore(k milestoneKey) *Container {
	ready := f.bounds.find(k)
	for _, c := range f.containers {
		ended := f.latestOf(c, MilestoneFinished)
		if c.Kind != KindInit && ready != nil && ended != nil && ended.latest < ready.estimate() &&
			(f.endedForGood(c) || f.mayEndForGood(c, f.asOf)) {
			return c
		}
	}
	return nil
}

// learnedTooLate reports whether the agent learned about the milestones a and b too late to know their order. The order
// is unknown if one pod object first reported both milestones, or if b had happened before the agent learned about a.
// After an absence, the agent can first receive an older state of the pod, and the latest state a moment later.
func (f *fold) learnedTooLate(a, b milestoneKey) bool {
	first, seen := f.e.arrivalOf(a)
	second, both := f.e.arrivalOf(b)
	reached := f.bounds.find(b)
	return seen && both && (first == second || reached != nil && first > reached.latest)
}

// probePhase returns the given probe phase if the container has a probe. If the container has no probe, probePhase
// returns PhaseKubeletSync.
func probePhase(probed bool, phase Phase) Phase {
	if probed {
		return phase
	}
	return PhaseKubeletSync
}

// alsoReadyLast returns the phases of other containers that might have become ready even later than the container
// "last". If the agent learned from the same observation that two containers are ready, their order is unknown. If
// there is no such phase, alsoReadyLast returns nil.
func (f *fold) alsoReadyLast(last *Container) (also []Phase) {
	for _, c := range f.containers {
		b := f.readyBound(c)
		probed := c.ReadinessProbe || c.StartupProbe
		switch {
		case c.Kind == KindInit || c.Name == last.Name || b == nil ||
			b.latest != f.readyBound(last).latest:
		case !probed && !last.ReadinessProbe && !last.StartupProbe:
			// A container without a probe waits only for the kubelet's status. So two containers without probes have
			// the same phase.
		case !probed && f.ranLongBefore(c, b): // the container was already ready
		default:
			also = uniquePhases(also, []Phase{probePhase(probed, PhaseReadinessProbe)})
		}
	}
	return also
}

// ranLongBefore reports whether a container ran long before the status showed that the container is ready. "Long" is
// more than statusPatience, the maximum time that the kubelet needs to report a start. A status from a list of pods can
// arrive long after all containers were ready.
func (f *fold) ranLongBefore(c *Container, ready *bound) bool {
	ran, by := f.latestOf(c, MilestoneRunning), ready.latest
	if all := f.bounds.find(podMilestone(MilestoneContainersReady)); all != nil {
		by = min(by, all.latest)
	}
	return ran != nil && by-ran.latest > instant(statusPatience)
}

// readyLast returns the container that became ready last, or nil if no container was ready. If several
// containers became ready at the same time, readyLast prefers a container with a readiness probe.
func (f *fold) readyLast() *Container {
	var last *Container
	var lastAt instant
	for _, c := range f.containers {
		if c.Kind == KindInit {
			continue
		}
		b := f.readyBound(c)
		if b == nil {
			continue
		}
		at := b.estimate()
		if last == nil || at > lastAt || at == lastAt && (c.ReadinessProbe || !last.ReadinessProbe) {
			last, lastAt = c, at
		}
	}
	return last
}
