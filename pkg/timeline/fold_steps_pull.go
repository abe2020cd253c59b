package timeline

import "github.com/podlapse/podlapse/pkg/imagepull"

// waitForWork is the phase before the kubelet starts working on a container: the post-start hook of the previous
// container, if it has one.
func (f *fold) waitForWork(c *Container) step {
	if before := f.before(c.Name); before != nil && before.PostStartHook {
		return step{phase: PhasePostStartHook, previous: true}
	}
	return step{phase: PhaseKubeletSync}
}

// pullSteps is the steps before a container is created. If the image was present, only an Event may say when the
// kubelet found it. An image that must not be pulled may be refused before it is found.
func (f *fold) pullSteps(c *Container) []step {
	index, attempts, wait := f.index(c.Name), f.attemptsOf(c), f.waitForWork(c)
	steps := make([]step, 0, 4*len(attempts)+4) // with the steps of a run
	if inspected := (milestoneKey{index, 0, MilestoneInspectFailed}); f.bounds.find(inspected) != nil {
		wait.key = inspected
		steps = append(steps, wait)
		wait = step{phase: PhaseContainerCreate} // the kubelet asks the runtime again until it answers
	}
	if c.PullPolicy == PullNever {
		wait.key, wait.optional = milestoneKey{index, 0, MilestonePullRequested}, true
		return append(steps, wait)
	}
	for i, a := range attempts {
		if i > 0 {
			wait = step{phase: PhaseImageBackoff}
			if attempts[i-1].failure == imagepull.FailureInvalidReference {
				wait.phase = PhaseContainerConfig // the name stays invalid, so no attempt can succeed
			}
		}
		if a.outcome == imagepull.OutcomePresent {
			wait.key, wait.optional = milestoneKey{index, a.attempt, MilestonePullFinished}, true
			steps = append(steps, wait)
			continue
		}
		wait.key = milestoneKey{index, a.attempt, MilestonePullRequested}
		resolved := f.startedBy(index, a.attempt)
		steps = append(steps, wait,
			step{key: milestoneKey{index, a.attempt, MilestonePullStarted}, phase: PhasePullQueue, undated: resolved})
		if resolved {
			steps = append(steps, step{key: milestoneKey{index, a.attempt, MilestonePullResolved}, phase: PhasePull})
		}
		end := step{key: milestoneKey{index, a.attempt, a.end()}, phase: PhasePull}
		switch downloaded := (milestoneKey{index, a.attempt, MilestonePullDownloaded}); {
		case f.bounds.find(downloaded) != nil:
			steps = append(steps, step{key: downloaded, phase: PhasePull})
			end.phase = PhaseUnpack
		case f.mayHoldUnpacking(c, a):
			end.also = alsoUnpack
		}
		steps = append(steps, end)
	}
	return steps
}
