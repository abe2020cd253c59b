package timeline

import (
	"slices"
)

// step is one milestone on the way to ready, with the phase that it ends.
type step struct {
	key      milestoneKey
	previous bool // the phase belongs to the container before the chain's own
	undated  bool // known only to come before the next step, so not a boundary
	optional bool // there may never be evidence of this milestone, so it does not count as missing
	phase    Phase
	also     []Phase // other phases that may be in there
}

// chain is the steps of the pod, or of one container, in the kubelet's order.
type chain struct {
	container string // empty for the pod
	steps     []step
	attempt   uint16 // the container's attempt for steps whose milestone is the pod's
	probes    bool   // it leads from the last start to readiness
}

// concurrent reports whether a step happens in parallel with the kubelet's work.
func (c *chain) concurrent(s step) bool { return c.probes && s.key.milestone == MilestoneStarted }

// podSteps leads to the first sandbox that ran. If there were several sandboxes before it, the first one counts as the
// beginning.
func (f *fold) podSteps() chain {
	ran := f.firstSandbox()
	steps := append(make([]step, 0, 8), step{key: podMilestone(MilestoneCreated)})
	if f.e.pod.ReadAt.IsZero() {
		steps = f.appendScheduling(steps)
	}
	steps = append(steps, f.pickup())
	steps = append(steps, f.sandboxSteps()...)
	return chain{steps: f.appendSandboxStart(steps, ran)}
}

// containerSteps leads to a container's run, and for an init container to its end.
func (f *fold) containerSteps(c *Container) chain {
	index := f.index(c.Name)
	steps := f.pullSteps(c)
	if c.Kind == KindImageVolume {
		return chain{container: c.Name, steps: steps}
	}
	last := f.lastAttempt(index, MilestoneConfigRefused, MilestoneCreateFailed, MilestoneContainerCreated,
		MilestoneRunning, MilestoneFinished)
	if c.Kind == KindSidecar && len(f.sandboxes) == 0 {
		// Once a sidecar has started, the kubelet continues. Its later restarts are not part of the start-up.
		last = f.firstAttempt(index, MilestoneStarted, last)
	}
	ended := PhaseFailedRun
	if c.Kind == KindInit {
		ended = PhaseInitRun
	}
	for attempt := uint16(0); attempt <= last; attempt++ {
		create := step{key: milestoneKey{index, attempt, MilestoneContainerCreated}, phase: PhaseContainerCreate}
		if attempt > 0 {
			create.phase = beforeRun(attempt)
			if c.PullPolicy == PullAlways {
				create.also = alsoPull // the kubelet asks the registry again, which no evidence here dates
			}
		}
		refused, why := f.createFailure(index, attempt)
		if next := create.key; attempt == 0 {
			if len(why) > 0 {
				next = refused
			}
			if f.answerDelayed(index, next) {
				create.phase, create.also = PhaseUnpack, alsoAnswerDelayed
			}
		}
		if len(why) > 0 {
			steps = append(steps, step{key: refused, phase: create.phase, also: create.also})
			create.phase, create.also = why[0], why[1:]
		}
		steps = append(steps, create,
			step{key: milestoneKey{index, attempt, MilestoneRunning}, phase: PhaseContainerStart})
		if attempt == last && c.PostStartHook && f.isLast(c) {
			steps = append(steps, step{key: milestoneKey{index, attempt, MilestonePostStarted},
				phase: PhasePostStartHook})
		}
		switch finished := (step{key: milestoneKey{index, attempt, MilestoneFinished}, phase: ended}); {
		case attempt == last && c.Kind != KindInit && f.killed(index, attempt):
			steps = append(steps, f.untilKilled(c, attempt)...)
		case attempt < last || c.Kind == KindInit || f.failed() || f.restarts(c):
			if f.endedWithSandbox(index, attempt) && c.Kind != KindInit {
				finished.phase = PhaseSandboxLost
			}
			steps = append(steps, finished)
		}
	}
	if c.Kind == KindSidecar && c.StartupProbe {
		// The next init container waits for it.
		steps = append(steps, step{key: milestoneKey{index, last, MilestoneStarted}, phase: PhaseStartupProbe})
	}
	return chain{container: c.Name, steps: steps}
}

// createFailure returns the milestone at which the kubelet first failed to create a container for a run, and the phases
// that it may have been in since. The reason in the status separates configuration from everything else, but a failed
// creation may also be caused by the configuration.
func (f *fold) createFailure(index int16, attempt uint16) (first milestoneKey, why []Phase) {
	config := milestoneKey{index, attempt, MilestoneConfigRefused}
	failed := milestoneKey{index, attempt, MilestoneCreateFailed}
	c, r := f.bounds.find(config), f.bounds.find(failed)
	switch {
	case c == nil && r == nil:
		return first, nil
	case r == nil && f.e.containers[index].notConfig:
		return config, alsoNotConfig
	case r == nil:
		return config, []Phase{PhaseContainerConfig}
	case c != nil && c.estimate() < r.estimate():
		failed = config
	}
	return failed, []Phase{PhaseContainerConfig, PhaseContainerCreate}
}

// killed reports whether the kubelet ended a run when it ended the pod, according to the pod's reason (Evicted,
// DeadlineExceeded, Preempting, Terminated …). A pod whose runs all failed has no reason. While the kubelet waits
// for containers to end it writes no status (pkg/kubelet, SyncTerminatingPod), so a run that was seen to end before
// that ended by itself.
func (f *fold) killed(index int16, attempt uint16) bool {
	if !f.failed() || f.e.pod.Reason == "" {
		return false
	}
	ended, seen := f.e.arrivalOf(milestoneKey{index, attempt, MilestoneFinished})
	failed, _ := f.e.arrivalOf(podMilestone(MilestoneFailed))
	return !seen || ended >= failed
}

// untilKilled is the step that a container was in when the kubelet ended it. If the container was not ready and all
// main containers had been started, that is the step to readiness.
func (f *fold) untilKilled(c *Container, attempt uint16) []step {
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
	case !c.StartupProbe || c.Kind == KindSidecar: // the other containers wait for a sidecar's startup probe
		return []step{finished}
	case f.bounds.find(started) == nil:
		finished.phase = PhaseStartupProbe
		return []step{finished}
	}
	return []step{{key: started, phase: PhaseStartupProbe}, finished}
}

// beforeRun is the phase before another run of a container. The kubelet restarts it at once the first time, and
// after that with a back-off, whatever its exit code (pkg/kubelet/kuberuntime, doBackOff).
func beforeRun(attempt uint16) Phase {
	if attempt == 1 {
		return PhaseKubeletSync
	}
	return PhaseCrashBackoff
}

// before is the container that the kubelet works on before the named one; nil for the first.
func (f *fold) before(name string) *Container {
	i := slices.IndexFunc(f.containers, func(c *Container) bool { return c.Name == name })
	if i <= 0 {
		return nil
	}
	return f.containers[i-1]
}

// isLast reports whether the kubelet starts no container after this one.
func (f *fold) isLast(c *Container) bool { return f.containers[len(f.containers)-1].Name == c.Name }

// latestOf is a container's milestone of the last attempt with evidence; nil if there is none.
func (f *fold) latestOf(c *Container, m Milestone) *bound {
	index := f.index(c.Name)
	return f.bounds.find(milestoneKey{index, f.lastAttempt(index, m), m})
}

// lastAttempt is the highest attempt with evidence of any of the milestones.
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

// firstAttempt is the lowest attempt with evidence of the milestone; if there is none, the argument otherwise.
func (f *fold) firstAttempt(container int16, milestone Milestone, otherwise uint16) uint16 {
	i := searchConstraints(f.constraints, milestoneKey{container: container, milestone: milestone})
	if i < len(f.constraints) && f.constraints[i].key.container == container &&
		f.constraints[i].key.milestone == milestone {
		return f.constraints[i].key.attempt
	}
	return otherwise
}
