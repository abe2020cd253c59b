package timeline

import "slices"

// appendSandboxStart adds the runtime's work on a sandbox: it calls the network plugin, pulls the sandbox image if
// it is absent, and starts the sandbox container (containerd 2.x, internal/cri/server/sandbox_run.go).
func (f *fold) appendSandboxStart(steps []step, attempt uint16) []step {
	ready := step{key: milestoneKey{podWide, attempt, MilestoneNetworkReady}, phase: PhaseNetwork}
	if f.e.pod.HostNetwork {
		ready.phase = PhaseSandbox
	}
	resolved, pulled := milestoneKey{podWide, attempt, MilestoneSandboxImageResolved},
		milestoneKey{podWide, attempt, MilestoneSandboxImagePulled}
	switch {
	case f.bounds.find(pulled) != nil:
		// There is no timestamp between the network setup and the registry's response.
		begun := step{key: resolved, phase: ready.phase, also: alsoSandboxImage}
		if f.bounds.find(resolved) == nil {
			begun.key = pulled
		} else {
			steps = append(steps, begun)
			begun = step{key: pulled, phase: PhaseSandboxImage}
		}
		steps = append(steps, begun)
		ready.phase = PhaseSandbox
	case !f.e.imageKnown.has(attempt):
		ready.also = alsoSandboxImage
	}
	return append(steps, ready, step{key: milestoneKey{podWide, attempt, MilestoneSandboxRunning}, phase: PhaseSandbox})
}

// Phases that a step may contain in addition to its own.
var (
	alsoSandboxImage  = []Phase{PhaseSandboxImage}
	alsoPull          = []Phase{PhasePull}
	alsoUnpack        = []Phase{PhaseUnpack}
	alsoDevice        = []Phase{PhaseDevice}
	alsoAPIServer     = []Phase{PhaseAPIServer}
	alsoAnswerDelayed = []Phase{PhaseKubeletSync, PhaseContainerCreate}
)

// firstSandbox is the attempt of the first sandbox that the runtime saw running; the last known attempt if the
// runtime does not say.
func (f *fold) firstSandbox() uint16 {
	for _, c := range f.constraints { // sorted by attempt within a milestone
		if c.key.container == podWide && c.key.milestone == MilestoneSandboxRunning && c.origin <= originStore {
			return c.key.attempt
		}
	}
	return f.lastAttempt(podWide, MilestoneSandboxBegun, MilestoneNetworkReady, MilestoneSandboxRunning)
}

// laterSandboxes leads to each sandbox that replaced one that had run. The work in the old sandbox is lost, and the
// kubelet begins again.
func (f *fold) laterSandboxes() []chain {
	var chains []chain
	last := f.lastAttempt(podWide, MilestoneSandboxBegun, MilestoneNetworkReady, MilestoneSandboxRunning)
	for attempt := f.firstSandbox() + 1; attempt <= last; attempt++ {
		begun := []step{
			{key: milestoneKey{podWide, attempt, MilestoneSandboxBegun}, phase: PhaseSandboxLost,
				also: f.laterObstacles},
		}
		chains = append(chains, chain{steps: f.appendSandboxStart(begun, attempt)})
	}
	return chains
}

// endedWithSandbox reports whether a run ended and another sandbox began before the next run was created.
func (f *fold) endedWithSandbox(index int16, attempt uint16) bool {
	finished, next := f.bounds.find(milestoneKey{index, attempt, MilestoneFinished}),
		f.bounds.find(milestoneKey{index, attempt + 1, MilestoneContainerCreated})
	if finished == nil {
		return false
	}
	return slices.ContainsFunc(f.sandboxes, func(c chain) bool {
		begun := f.bounds.find(c.steps[0].key)
		return begun != nil && finished.estimate() <= begun.estimate() &&
			(next == nil || begun.estimate() <= next.estimate())
	})
}

// sandboxSteps leads to the sandbox that ran. Only Events say what prevented it, and report failed sandboxes,
// because the runtime does not keep them.
func (f *fold) sandboxSteps() []step {
	begun := step{key: podMilestone(MilestoneSandboxBegun), phase: PhaseVolumes}
	if b := f.bounds.find(begun.key); b != nil {
		begun.undated = !b.origins.has(originStore) // other runtimes have only one timestamp, which is later
	}
	if f.e.pod.ResourceClaims {
		begun.also = alsoDevice
	}
	if len(f.obstacles) > 0 {
		return f.obstacleSteps(begun)
	}
	switch {
	case f.e.sandboxMayHaveFailed(f.bounds.find(begun.key)):
		begun.also = union(begun.also, possibleObstacles, []Phase{PhaseKubeletSync})
	case !f.e.pod.RemoteVolumes && f.sandboxDelayed():
		begun.also = union(begun.also, []Phase{PhaseAPIServer, PhaseKubeletSync})
	}
	return []step{begun}
}

// pickup is the step to the kubelet's pickup of the pod. The kubelet learns of the pod when the agent does. If the
// agent learned of it late, the API server may have sent it late to both.
func (f *fold) pickup() step {
	s := step{key: podMilestone(MilestoneAcknowledged), phase: PhaseKubeletPickup}
	scheduled := f.bounds.find(podMilestone(MilestoneScheduled))
	if first := f.e.firstSeen; scheduled != nil && first.new && at(first.at)-scheduled.latest > firstCheck {
		s.also = alsoAPIServer
	}
	return s
}

// sandboxDelayed reports whether the kubelet began with a sandbox later than it takes to mount volumes that it
// serves itself. Those are mounted at once unless the kubelet waits for the API server or lacks CPU time.
func (f *fold) sandboxDelayed() bool {
	begun, acknowledged := f.asOf, f.bounds.find(podMilestone(MilestoneAcknowledged))
	if b := f.bounds.find(podMilestone(MilestoneSandboxBegun)); b != nil {
		begun = b.earliest
	}
	return acknowledged != nil && begun-acknowledged.latest > firstCheck
}
