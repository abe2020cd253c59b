package timeline

import "github.com/podlapse/podlapse/pkg/imagepull"

// waitForWork is the time before the kubelet starts working on a container: the post-start hook of the previous
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
	if inspected := (markKey{index, 0, MarkInspectFailed}); f.bounds.find(inspected) != nil {
		wait.key = inspected
		steps = append(steps, wait)
		wait = step{phase: PhaseContainerCreate} // the kubelet asks the runtime again until it answers
	}
	if c.PullPolicy == PullNever {
		wait.key, wait.optional = markKey{index, 0, MarkPullRequested}, true
		return append(steps, wait)
	}
	for i, a := range attempts {
		if i > 0 {
			wait = step{phase: PhaseImageBackoff}
			if attempts[i-1].failure == imagepull.FailureInvalidReference {
				wait.phase = PhaseContainerConfig // retrying does not make an invalid name valid
			}
		}
		if a.outcome == imagepull.OutcomePresent {
			wait.key, wait.optional = markKey{index, a.attempt, MarkPullFinished}, true
			steps = append(steps, wait)
			continue
		}
		wait.key = markKey{index, a.attempt, MarkPullRequested}
		resolved := f.startedBy(index, a.attempt)
		steps = append(steps, wait,
			step{key: markKey{index, a.attempt, MarkPullStarted}, phase: PhasePullQueue, undated: resolved})
		if resolved {
			steps = append(steps, step{key: markKey{index, a.attempt, MarkPullResolved}, phase: PhasePull})
		}
		end := step{key: markKey{index, a.attempt, a.end()}, phase: PhasePull}
		switch downloaded := (markKey{index, a.attempt, MarkPullDownloaded}); {
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
