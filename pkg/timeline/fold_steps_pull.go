package timeline

import (
	"slices"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// pullSteps returns the steps before the creation of a container. If the image was present, only an Event can report
// when the kubelet found the image. If the pull policy is Never, the kubelet can first refuse the container, and find
// the image in a later attempt.
func (f *fold) pullSteps(c *Container) []step {
	steps := f.stepsOfPulls(c)
	steps[0] = f.withMissedAttempts(f.index(c.Name), steps[0])
	return steps
}

// stepsOfPulls returns the same steps as pullSteps, but without the phases of attempts that the agent might have
// missed.
func (f *fold) stepsOfPulls(c *Container) []step {
	index, attempts, wait := f.index(c.Name), f.attemptsOf(c), f.waitForWork(c)
	steps := make([]step, 0, 4*len(attempts)+4) // with room for the steps of a run
	steps, wait = f.appendChecks(steps, wait, index, 0)
	if c.PullPolicy == PullNever {
		wait.key, wait.optional = milestoneKey{index, 0, MilestonePullRequested}, true
		return append(steps, f.withImageLookup(wait, index))
	}
	for i, a := range attempts {
		if i > 0 {
			wait = step{phase: PhaseImageBackoff}
			if attempts[i-1].failure == imagepull.FailureInvalidReference {
				wait.phase = PhaseContainerConfig // the runtime refused the image's name, so no attempt can succeed
			}
			p := &f.pulls[index]
			if len(p.failures) == 0 || p.restarts.has(a.attempt) &&
				(attempts[i-1].outcome == imagepull.OutcomeUnknown || !f.knowsAllEvents() || p.requestLost()) {
				// The kubelet might have restarted during the previous attempt or during an attempt without Events.
				wait.also = alsoKubeletSync
			}
			if (wait.also != nil || p.restarts.has(a.attempt)) && f.followsProbedSidecar(c) {
				wait.also = alsoProbeAgain
			}
			steps, wait = f.appendChecks(steps, wait, index, a.attempt)
		}
		if a.outcome == imagepull.OutcomePresent {
			wait.key, wait.optional = milestoneKey{index, a.attempt, MilestonePullFinished}, true
			steps = append(steps, f.withImageLookup(wait, index))
			continue
		}
		wait = withCredentialLookup(wait)
		wait.key = milestoneKey{index, a.attempt, MilestonePullRequested}
		resolved := f.startedBy(index, a.attempt)
		steps = append(steps, wait, step{
			key: milestoneKey{index, a.attempt, MilestonePullStarted}, phase: PhasePullQueue, undated: resolved,
			optional: a.outcome == imagepull.OutcomeFailed, // no source reports when a failed pull started
		})
		if resolved {
			steps = append(steps, step{key: milestoneKey{index, a.attempt, MilestonePullResolved}, phase: PhasePull})
		}
		end := step{key: milestoneKey{index, a.attempt, a.endMilestone()}, phase: PhasePull}
		switch downloaded := (milestoneKey{index, a.attempt, MilestonePullDownloaded}); {
		case f.bounds.find(downloaded) != nil:
			steps = append(steps, step{key: downloaded, phase: PhasePull})
			end.phase = PhaseUnpack
		case f.mayHoldUnpacking(c, a):
			end.also = alsoUnpack
		}
		if f.pulls[index].hidesFailure && a.attempt == f.pulls[index].finalAttempt {
			end.also = uniquePhases(end.also, []Phase{PhaseImageBackoff})
		}
		steps = append(steps, end)
	}
	return steps
}

// followsProbedSidecar reports whether a sidecar with a startup probe comes before the container. After a restart, a
// kubelet before version 1.35 does not know that the startup probe succeeded (doProbe in pkg/kubelet/prober). So if no
// main container runs yet, this kubelet waits for the startup probe again before it requests the container's image
// (computeInitContainerActions in pkg/kubelet/kuberuntime).
func (f *fold) followsProbedSidecar(c *Container) bool {
	return slices.ContainsFunc(f.e.pod.Containers, func(o Container) bool {
		return o.Kind == KindSidecar && o.StartupProbe && f.e.predecessor(o.Name, c) != nil
	})
}

// mayRepeatProbe reports whether the time between two milestones can include a repeated startup probe of a sidecar: see
// followsProbedSidecar. The argument w holds the possible phases of this time. Usually, an Event about a second request
// for the image shows that the kubelet restarted. But if the agent did not receive the Event about the first request or
// the Event about the end of the pull, the Event about the second request might be lost too. A completed wait of at
// most presentPatience is too short for a restart.
func (f *fold) mayRepeatProbe(from, to *bound, until instant, w phaseCandidates) bool {
	index, open := f.index(w.container), to.origins == 0
	if index == podWide || !open && until.sub(from.estimate()) <= presentPatience {
		return false
	}
	switch w.phases[0] {
	case PhaseKubeletSync:
	case PhasePullQueue, PhaseImageBackoff:
		if open || to.key.milestone == MilestonePullFailed || f.pulls[index].pulled.known() {
			return false
		}
	default:
		return false
	}
	phase, _ := phaseOrGroup(w.phases)
	c := f.e.specOf(index)
	return phase == PhaseUnattributed && c != nil && f.followsProbedSidecar(c) && !f.mainCreatedBefore(from)
}

// mainCreatedBefore reports whether the kubelet had certainly created a main container before the given milestone.
func (f *fold) mainCreatedBefore(b *bound) bool {
	return slices.ContainsFunc(f.containers, func(c *Container) bool {
		return c.Kind == KindMain && f.e.createdBy(f.index(c.Name)) <= b.earliest
	})
}

// mayHideRepeatedProbe reports whether the kubelet's work between two containers can include a repeated startup probe:
// see followsProbedSidecar. The kubelet usually continues immediately after the startup probe of a sidecar. So only a
// phase longer than presentPatience can include a repeated probe.
func (f *fold) mayHideRepeatedProbe(s Span, begin, end milestoneKey) bool {
	if s.Phase != PhaseKubeletSync || begin.milestone != MilestoneStarted || begin.container == end.container ||
		end.container == podWide || s.Duration() <= presentPatience {
		return false
	}
	c := f.e.specOf(end.container)
	return c != nil && f.followsProbedSidecar(c)
}

// appendChecks appends a step for each failed check of an image before a pull attempt. The second result is the step
// after these checks.
func (f *fold) appendChecks(steps []step, wait step, index int16, attempt uint16) ([]step, step) {
	named := f.bounds.find(milestoneKey{index, attempt, MilestoneNameRefused})
	inspected := f.bounds.find(milestoneKey{index, attempt, MilestoneInspectFailed})
	// If the kubelet cannot parse the image's name, it requests no pull until somebody changes the name.
	afterNamed := step{phase: PhaseContainerConfig}
	// The kubelet asks the runtime again until the runtime reports whether the image is present.
	afterInspected := step{phase: PhaseContainerCreate}
	if attempt > 0 && inspected != nil && f.isInBackoff(inspected) {
		if f.isPunctual(index, attempt) || f.e.containers[index].backsOffAfter(inspected.latest) {
			inspected = nil
		}
		afterInspected.also = []Phase{PhaseImageBackoff}
	}
	fail := func(check *bound, after step) {
		if check != nil {
			wait.key = check.key
			steps = append(steps, wait)
			wait = after
		}
	}
	if named != nil && inspected != nil && inspected.latest < named.latest {
		fail(inspected, afterInspected)
		inspected = nil
	}
	fail(named, afterNamed)
	fail(inspected, afterInspected)
	return steps, wait
}

// isInBackoff reports whether a failed check of an image might have happened during the back-off after a failed pull.
// The kubelet checks the image before it checks whether the back-off is over.
func (f *fold) isInBackoff(check *bound) bool {
	failed := f.bounds.find(milestoneKey{check.key.container, check.key.attempt - 1, MilestonePullFailed})
	return failed == nil || !f.knowsAllEvents() || // an unknown pull might have failed
		check.earliest.sub(failed.latest) < imagepull.Backoff(int(check.key.attempt))
}

// isPunctual reports whether the kubelet requested the image again as soon as the back-off allowed it.
func (f *fold) isPunctual(index int16, attempt uint16) bool {
	failed := f.bounds.find(milestoneKey{index, attempt - 1, MilestonePullFailed})
	requested := f.bounds.find(milestoneKey{index, attempt, MilestonePullRequested})
	return failed != nil && requested != nil &&
		requested.latest.sub(failed.earliest) <= maxBackoff(PhaseImageBackoff, int(attempt))
}
