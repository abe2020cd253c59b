package timeline

// readySteps leads from the last container's start to the pod's readiness, along the container that became ready
// last. It has no steps if no container was seen ready.
func (f *fold) readySteps() chain {
	last := f.readyLast()
	if last == nil {
		return chain{}
	}
	index := f.index(last.Name)
	attempt := f.lastAttempt(index, MilestoneContainerReady)
	name, also := last.Name, f.alsoReadyLast(last)
	if len(also) > 0 {
		name = ""
	}
	gates := PhaseKubeletSync
	if f.e.pod.ReadinessGates {
		gates = PhaseReadinessGates
	}
	steps := make([]step, 0, 3)
	// Without a startup probe the kubelet reports a container as started when it runs. The other containers wait for a
	// sidecar's probe.
	if last.StartupProbe && last.Kind != KindSidecar {
		started := step{key: milestoneKey{index, attempt, MilestoneStarted}, phase: PhaseStartupProbe}
		started.undated = name == "" || last.ReadinessProbe &&
			f.sameNews(started.key, podMilestone(MilestoneContainersReady))
		steps = append(steps, started)
	}
	// All containers are ready when the last one is, and that moment has a timestamp of its own.
	steps = append(
		steps,
		step{
			key:   podMilestone(MilestoneContainersReady),
			phase: probePhase(last.ReadinessProbe, PhaseReadinessProbe),
			also:  also,
		},
		step{key: podMilestone(MilestoneReady), phase: gates},
	)
	return chain{name, steps, attempt, true}
}

// sameNews reports whether the same observation first showed both milestones. If so, no evidence shows how the time
// before it is divided.
func (f *fold) sameNews(a, b milestoneKey) bool {
	first, seen := f.e.arrivalOf(a)
	second, both := f.e.arrivalOf(b)
	return seen && both && first == second
}

// probePhase charges the wait for a probe to the app only if there is a probe.
func probePhase(probed bool, phase Phase) Phase {
	if probed {
		return phase
	}
	return PhaseKubeletSync
}

// alsoReadyLast is the phase of another container that may also have become ready last, because the same observation
// first showed both as ready; nil if there is none.
func (f *fold) alsoReadyLast(last *Container) []Phase {
	var also Phase
	for _, c := range f.containers {
		b := f.latestOf(c, MilestoneContainerReady)
		probed := c.ReadinessProbe || c.StartupProbe
		switch {
		case c.Kind == KindInit || c.Name == last.Name || b == nil ||
			b.latest != f.latestOf(last, MilestoneContainerReady).latest:
		case !probed && !last.ReadinessProbe && !last.StartupProbe:
			// In either case, the wait is for the kubelet's status.
		case !probed && f.ranLongBefore(c, b): // it was ready then
		case also == "" || c.ReadinessProbe != last.ReadinessProbe:
			also = probePhase(probed, PhaseReadinessProbe)
		}
	}
	if also == "" {
		return nil
	}
	return []Phase{also}
}

// ranLongBefore reports whether the container ran longer before it was seen ready than the kubelet needs to report
// that.
func (f *fold) ranLongBefore(c *Container, ready *bound) bool {
	ran := f.latestOf(c, MilestoneRunning)
	return ran != nil && ready.latest-ran.latest > instant(statusPatience)
}

// readyLast is the container that became ready last; nil if none was seen ready. If several became ready at once, it is
// one with a readiness probe.
func (f *fold) readyLast() *Container {
	var last *Container
	var lastAt instant
	for _, c := range f.containers {
		if c.Kind == KindInit {
			continue
		}
		b := f.latestOf(c, MilestoneContainerReady)
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
