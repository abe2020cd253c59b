package timeline

import (
	"slices"
)

// step is one milestone on the way to readiness, with the phase that ends at the milestone.
type step struct {
	key      milestoneKey
	previous bool // the phase belongs to the previous container, not to chain.container
	undated  bool // the timeline does not separate the time of this step from the time of the next step
	optional bool // the milestone never counts as missing, because even a normal start-up can lack evidence of it
	phase    Phase
	also     []Phase // further phases that the step can contain
}

// belongsToPrevious reports whether the whole time of a step belongs to the container before the step's own container.
// The argument "phases" holds the possible phases of this time. If the time can contain work on the step's own
// container, belongsToPrevious returns false.
func (s step) belongsToPrevious(phases []Phase) bool {
	return s.previous && !slices.ContainsFunc(phases, func(p Phase) bool {
		return p != PhasePostStartHook && p != PhaseKubeletSync
	})
}

// chain holds the steps of the pod or of one container, in the kubelet's order.
type chain struct {
	container string // empty for the chain of the pod itself
	steps     []step
	attempt   uint16 // the container's attempt; the keys of pod-wide milestones do not contain it
	probes    bool   // the chain begins when the container that starts last is running, and ends when the pod is ready
}

// isConcurrent reports whether a step happens in parallel with the kubelet's work.
func (c *chain) isConcurrent(s step) bool { return c.probes && s.key.container != podWide }

// podSteps returns the steps from the pod's creation to the first sandbox that ran. If several sandboxes began before
// one of them ran, the chain uses the time at which the earliest sandbox began.
func (f *fold) podSteps() chain {
	ran := f.firstSandbox()
	steps := append(make([]step, 0, 8), step{key: podMilestone(MilestoneCreated)})
	if f.e.pod.ReadAt.IsZero() && !f.e.boundByCreator {
		steps = f.appendScheduling(steps)
	}
	steps = append(steps, f.pickupStep())
	steps = append(steps, f.sandboxSteps()...)
	return chain{steps: f.appendSandboxStart(steps, ran)}
}

// containerSteps returns the steps up to a container's run. For an init container, the last step is the end of
// its run.
func (f *fold) containerSteps(c *Container) chain {
	index := f.index(c.Name)
	steps := f.pullSteps(c)
	if c.Kind == KindImageVolume {
		return chain{container: c.Name, steps: steps}
	}
	last := f.lastRun(c)
	ended := PhaseFailedRun
	if c.Kind == KindInit {
		ended = PhaseInitRun
	}
	// The next init container waits for a sidecar's startup probe.
	started, probed := step{key: milestoneKey{index, last, MilestoneStarted}, phase: PhaseStartupProbe},
		c.Kind == KindSidecar && c.StartupProbe
	for attempt := uint16(0); attempt <= last; attempt++ {
		create := step{key: milestoneKey{index, attempt, MilestoneContainerCreated}, phase: PhaseContainerCreate}
		if attempt > 0 {
			create.phase = f.phaseBeforeRestart(index, attempt)
			create.also = f.alsoBeforeRun(c, attempt)
		}
		refused, why := f.createFailure(index, attempt)
		if next := create.key; attempt == 0 {
			if len(why) > 0 {
				next = refused
			}
			if f.responseDelayed(index, next) {
				create.phase, create.also = PhaseUnpack, alsoResponseDelayed
			}
		}
		if len(why) > 0 {
			also := create.also
			if f.e.isUndatedRefusal(refused) && !f.isRefusalReported(refused) {
				also = slices.Concat(also, why) // the first refusal can be much earlier than the status
			}
			steps = append(steps, step{key: refused, phase: create.phase, also: also})
			create.phase, create.also = why[0], why[1:]
		}
		run := step{key: milestoneKey{index, attempt, MilestoneRunning}, phase: PhaseContainerStart}
		// A source that reports the end of a run also reports its start. So if a run has an end but no start, the
		// container's process never started.
		run.optional = f.bounds.find(milestoneKey{index, attempt, MilestoneFinished}) != nil
		steps = append(steps, create, run)
		if attempt == last && c.PostStartHook && (f.isLast(c) || !c.StartupProbe && f.endsOwnHook(c) ||
			attempt > 0 && c.Kind == KindMain) {
			steps = append(steps, step{key: milestoneKey{index, attempt, MilestonePostStarted},
				phase: PhasePostStartHook})
		}
		if attempt == last && probed && f.bounds.find(started.key) != nil {
			steps, probed = append(steps, started), false
		}
		switch finished := (step{key: milestoneKey{index, attempt, MilestoneFinished}, phase: ended}); {
		case attempt == last && c.Kind != KindInit && f.wasKilled(index, attempt):
			steps = append(steps, f.stepsUntilKilled(c, attempt)...)
		case attempt == last && c.Kind == KindSidecar && !f.failed() && f.bounds.find(started.key) != nil:
			// If a sidecar fails after it started, the next containers do not wait for it.
		case attempt < last || c.Kind == KindInit || f.failed() || f.willRestart(c) || f.failedForGood(c):
			steps = append(steps, f.runEndStep(c, finished))
		}
	}
	if probed && steps[len(steps)-1].key.milestone != MilestoneFinished {
		steps = append(steps, started)
	}
	return chain{container: c.Name, steps: steps}
}

// lastRun returns the number of a container's last run that is part of the start-up.
func (f *fold) lastRun(c *Container) uint16 {
	index := f.index(c.Name)
	last := f.lastAttempt(index, MilestoneConfigRefused, MilestoneCreateFailed, MilestoneContainerCreated,
		MilestoneRunning, MilestoneFinished)
	if c.Kind == KindSidecar && len(f.sandboxes) == 0 {
		// After a sidecar has started, the kubelet continues with the next container. Later restarts of the sidecar are
		// not part of the start-up.
		return f.firstAttempt(index, MilestoneStarted, last)
	}
	return last
}

// createFailure returns the milestone of the first failure to create a container for a run. The result "why" lists the
// possible phases after this failure. Usually, a configuration error has the waiting reason CreateContainerConfigError.
// But a configuration error can also have the waiting reason CreateContainerError, like other errors.
func (f *fold) createFailure(index int16, attempt uint16) (first milestoneKey, why []Phase) {
	config := milestoneKey{index, attempt, MilestoneConfigRefused}
	failed := milestoneKey{index, attempt, MilestoneCreateFailed}
	c, r := f.bounds.find(config), f.bounds.find(failed)
	switch {
	case c == nil && r == nil:
		return first, nil
	case r == nil && !f.e.containers[index].isMisconfigured():
		return config, alsoNotConfig
	case r == nil:
		return config, []Phase{PhaseContainerConfig}
	case c != nil && c.estimate() < r.estimate():
		failed = config
	}
	return failed, []Phase{PhaseContainerConfig, PhaseContainerCreate}
}

// wasKilled reports whether a run ended because the kubelet killed the whole pod. If the kubelet killed a pod, the
// pod's status contains a reason, such as Evicted, DeadlineExceeded, Preempting or Terminated. If a pod failed because
// its containers failed, its status contains no reason. The kubelet writes no status while it waits for containers to
// end (SyncTerminatingPod in pkg/kubelet). So if the status showed the end of a run before it showed the pod's failure,
// the run ended by itself.
func (f *fold) wasKilled(index int16, attempt uint16) bool {
	if !f.failed() || f.e.pod.Reason == "" {
		return false
	}
	ended, seen := f.e.arrivalOf(milestoneKey{index, attempt, MilestoneFinished})
	failed, _ := f.e.arrivalOf(podMilestone(MilestoneFailed))
	return !seen || ended >= failed
}

// stepsUntilKilled returns the last steps of a container that the kubelet killed before the container was ready.
// stepsUntilKilled returns nil if the container had been ready, or if any main container of the pod never ran.
func (f *fold) stepsUntilKilled(c *Container, attempt uint16) []step {
	index := f.index(c.Name)
	allRan := !slices.ContainsFunc(f.containers, func(o *Container) bool {
		return o.Kind == KindMain && f.latestOf(o, MilestoneRunning) == nil
	})
	if !allRan || f.bounds.find(milestoneKey{index, attempt, MilestoneContainerReady}) != nil {
		return nil
	}
	started := milestoneKey{index, attempt, MilestoneStarted}
	finished := step{
		key:   milestoneKey{index, attempt, MilestoneFinished},
		phase: probePhase(c.ReadinessProbe, PhaseReadinessProbe),
	}
	switch {
	case !c.StartupProbe || c.Kind == KindSidecar: // the next containers wait for a sidecar's startup probe
		return []step{finished}
	case f.bounds.find(started) == nil:
		finished.phase = PhaseStartupProbe
		return []step{finished}
	}
	return []step{{key: started, phase: PhaseStartupProbe}, finished}
}

// containerBefore returns the container on which the kubelet works immediately before the named container, or nil for
// the first container.
func (f *fold) containerBefore(name string) *Container {
	i := slices.IndexFunc(f.containers, func(c *Container) bool { return c.Name == name })
	if i <= 0 {
		return nil
	}
	return f.containers[i-1]
}

// isLast reports whether the kubelet starts no container after c.
func (f *fold) isLast(c *Container) bool { return f.containers[len(f.containers)-1].Name == c.Name }

// latestOf returns the time bounds of a container's milestone, in the latest attempt with evidence of this milestone.
// If no attempt has such evidence, latestOf returns nil.
func (f *fold) latestOf(c *Container, m Milestone) *bound {
	index := f.index(c.Name)
	return f.bounds.find(milestoneKey{index, f.lastAttempt(index, m), m})
}

// lastAttempt returns the highest attempt with evidence of at least one of the milestones, or 0 if there is no such
// evidence.
func (f *fold) lastAttempt(container int16, milestones ...Milestone) uint16 {
	var last uint16
	for _, milestone := range milestones {
		after := searchConstraints(f.constraints, milestoneKey{container: container, milestone: milestone + 1})
		if after == 0 {
			continue
		}
		if k := f.constraints[after-1].key; k.container == container && k.milestone == milestone {
			last = max(last, k.attempt)
		}
	}
	return last
}

// firstAttempt returns the lowest attempt with evidence of the milestone. If no attempt has evidence, firstAttempt
// returns the argument "otherwise".
func (f *fold) firstAttempt(container int16, milestone Milestone, otherwise uint16) uint16 {
	i := searchConstraints(f.constraints, milestoneKey{container: container, milestone: milestone})
	if i < len(f.constraints) && f.constraints[i].key.container == container &&
		f.constraints[i].key.milestone == milestone {
		return f.constraints[i].key.attempt
	}
	return otherwise
}
