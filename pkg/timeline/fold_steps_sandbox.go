package timeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// appendSandboxStart adds the steps of the runtime's work on a sandbox. The runtime calls the network plugin, pulls the
// sandbox image if the image is absent, and starts the sandbox container (containerd 2.x,
// internal/cri/server/sandbox_run.go).
func (f *fold) appendSandboxStart(steps []step, attempt uint16) []step {
	ready := step{key: milestoneKey{podWide, attempt, MilestoneNetworkReady}, phase: PhaseNetwork}
	if f.e.pod.HostNetwork {
		ready.phase = PhaseSandbox
	}
	resolved, pulled := milestoneKey{podWide, attempt, MilestoneSandboxImageResolved},
		milestoneKey{podWide, attempt, MilestoneSandboxImagePulled}
	switch {
	case f.bounds.find(pulled) != nil:
		// No timestamp separates the network setup from the wait for the registry's response.
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
	return append(steps, ready, step{key: milestoneKey{podWide, attempt, MilestoneSandboxRunning}, phase: PhaseSandbox,
		undated: f.mayPullBeforeRunning(attempt)})
}

// mayPullBeforeRunning reports whether the kubelet might have pulled the first container's image in the interval of
// MilestoneSandboxRunning. This interval contains all possible times at which the sandbox started. Some runtimes report
// when the network was set up, but not when the sandbox started. If no Event shows the request for the image, the
// estimate of MilestoneSandboxRunning can be later than the pull.
func (f *fold) mayPullBeforeRunning(attempt uint16) bool {
	ran := f.bounds.find(milestoneKey{podWide, attempt, MilestoneSandboxRunning})
	if ran == nil || ran.latest.sub(ran.earliest) <= runtimeSlack || len(f.containers) == 0 {
		return false
	}
	c := f.containers[0]
	index := f.index(c.Name)
	return f.e.mayNeedPull(*c) &&
		f.bounds.find(milestoneKey{index, 0, MilestonePullRequested}) == nil &&
		lastOutcome(f, c, index) != imagepull.OutcomePresent
}

// These lists hold phases that a step can contain in addition to its own phase.
var (
	alsoSandboxImage    = []Phase{PhaseSandboxImage}
	alsoUnpack          = []Phase{PhaseUnpack}
	alsoWholePull       = []Phase{PhasePullQueue, PhasePull, PhaseUnpack}
	alsoDevice          = []Phase{PhaseDevice}
	alsoAPIServer       = []Phase{PhaseAPIServer}
	alsoKubeletSync     = []Phase{PhaseKubeletSync}
	alsoProbeAgain      = []Phase{PhaseKubeletSync, PhaseStartupProbe}
	alsoSandboxLost     = []Phase{PhaseSandboxLost}
	alsoCrashBackoff    = []Phase{PhaseCrashBackoff}
	alsoUnattributed    = []Phase{PhaseUnattributed} // the step can contain work that no other phase describes
	alsoResponseDelayed = []Phase{PhaseKubeletSync, PhaseContainerCreate}
)

// firstSandbox returns the attempt number of the first sandbox that the runtime reported as running. If the runtime
// reported no running sandbox, firstSandbox returns the last known attempt number.
func (f *fold) firstSandbox() uint16 {
	for _, c := range f.constraints { // the constraints on a milestone are sorted by attempt
		if c.key.container == podWide && c.key.milestone == MilestoneSandboxRunning && c.origin <= originStore {
			return c.key.attempt
		}
	}
	return f.lastAttempt(podWide, MilestoneSandboxBegun, MilestoneNetworkReady, MilestoneSandboxRunning)
}

// laterSandboxes returns a chain (list of steps) for each sandbox that replaced an earlier running sandbox. For each
// new sandbox, the kubelet repeats the work that it did for the earlier sandbox.
func (f *fold) laterSandboxes() []chain {
	var chains []chain
	last := f.lastAttempt(podWide, MilestoneSandboxBegun, MilestoneNetworkReady, MilestoneSandboxRunning)
	for attempt := f.firstSandbox() + 1; attempt <= last; attempt++ {
		begun := []step{
			{key: milestoneKey{podWide, attempt, MilestoneSandboxBegun}, phase: PhaseSandboxLost,
				also: f.laterObstacles},
		}
		if f.mayPullImageFirst(attempt) {
			begun[0].also = uniquePhases(begun[0].also, alsoSandboxImage)
		}
		if f.mayBackOffUntil(begun[0].key) {
			begun[0].also = uniquePhases(begun[0].also, alsoCrashBackoff)
		}
		chains = append(chains, chain{steps: f.appendSandboxStart(begun, attempt)})
	}
	return chains
}

// mayBackOffUntil reports whether a container was between two runs when a later sandbox began, and might have been in
// back-off before the earlier sandbox was lost. The kubelet makes the first restart of a container without back-off.
func (f *fold) mayBackOffUntil(sandbox milestoneKey) bool {
	begun := f.bounds.find(sandbox)
	return begun != nil && slices.ContainsFunc(f.containers, func(c *Container) bool {
		index := f.index(c.Name)
		for run := f.lastAttempt(index, MilestoneFinished); run > 0; run-- {
			if f.isBetweenRuns(index, run, begun.estimate()) && f.restartsAfter(c, run) {
				return true
			}
		}
		return false
	})
}

// isBetweenRuns reports whether an instant is between the end of a run and the creation of the container's next run.
// Without a runtime, only the start of the next run is known. If no next run is known, any instant after the end of the
// run counts.
func (f *fold) isBetweenRuns(index int16, run uint16, t instant) bool {
	finished, next := f.bounds.find(milestoneKey{index, run, MilestoneFinished}),
		cmp.Or(f.bounds.find(milestoneKey{index, run + 1, MilestoneContainerCreated}),
			f.bounds.find(milestoneKey{index, run + 1, MilestoneRunning}))
	return finished != nil && finished.estimate() <= t && (next == nil || t <= next.estimate())
}

// endedWithSandbox reports whether a run might have ended because its sandbox was lost. The result is true in three
// cases: another sandbox began between the end of the run and the creation of the container's next run, the runtime has
// reported the loss of the sandbox but not yet the other sandbox, or the lost sandbox has not been replaced yet. If the
// kubelet reported a back-off before the other sandbox began, the run had ended before the loss of the sandbox.
func (f *fold) endedWithSandbox(index int16, attempt uint16) bool {
	reported := f.e.containers[index].backoffReportedAt(attempt)
	if reported == 0 && f.isBetweenRuns(index, attempt, maxInstant) && f.e.sandboxLost() {
		return true
	}
	if f.lostBeforeNextRun(index, attempt) && (reported == 0 || reported > f.e.stoppedAt) {
		return true
	}
	if slices.ContainsFunc(f.laterFailures, func(o obstacleOccurrence) bool {
		return f.isBetweenRuns(index, attempt, o.latest) && (reported == 0 || reported > o.earliest)
	}) {
		return true
	}
	return slices.ContainsFunc(f.sandboxes, func(c chain) bool {
		begun := f.bounds.find(c.steps[0].key)
		return begun != nil && f.isBetweenRuns(index, attempt, begun.estimate()) &&
			(reported == 0 || reported > begun.earliest)
	})
}

// lostBeforeNextRun reports whether the runtime reported the latest known sandbox as not ready between the start of a
// run and the start of the container's next run. Then the next run is in another sandbox that the runtime has not
// reported yet. This can happen for a moment at the end of the start-up, because the status of the pod can arrive
// before the runtime's response.
func (f *fold) lostBeforeNextRun(index int16, run uint16) bool {
	ran, next := f.bounds.find(milestoneKey{index, run, MilestoneRunning}),
		f.bounds.find(milestoneKey{index, run + 1, MilestoneRunning})
	return ran != nil && next != nil && f.e.latestSandboxStopped() &&
		ran.earliest <= f.e.stoppedAt && f.e.stoppedAt <= next.latest
}

// isLateReplacement examines the time from the milestone "from" to the beginning of another sandbox. It reports whether
// this time is so long that the replacement of the lost sandbox might not be its only reason.
func isLateReplacement(from, to *bound, w phaseCandidates) bool {
	return to.key.container == podWide && slices.Contains(w.phases, PhaseSandboxLost) &&
		to.latest.sub(from.earliest) > sandboxPatience
}

// delaysOfSandbox returns the phases that might have delayed the replacement of a lost sandbox between the milestone
// "from" and the instant "until". The kubelet might have been stopped. After a reboot of the node, the kubelet mounts
// the volumes again. Only Events show other obstacles and pulls. If a pull had begun, no evidence shows how long it
// lasted before the sandbox was lost.
func (f *fold) delaysOfSandbox(from *bound, until instant) []Phase {
	delays := uniquePhases(alsoKubeletSync, f.unreportedObstacles())
	if f.e.pod.RemoteVolumes {
		delays = uniquePhases(delays, []Phase{PhaseVolumes})
	}
	if f.e.pod.ResourceClaims {
		delays = uniquePhases(delays, alsoDevice)
	}
	pulling := from.key.milestone == MilestonePullRequested || from.key.milestone == MilestonePullStarted
	if !f.watchesReplacement(from, until) {
		delays = uniquePhases(delays, possibleObstacles)
		pulling = pulling || slices.ContainsFunc(f.containers, func(c *Container) bool {
			return f.e.mayNeedPull(*c) && !f.createdBefore(c, from)
		})
	}
	if pulling {
		delays = uniquePhases(delays, alsoWholePull)
	}
	return delays
}

// createdBefore reports whether the first run of a container was created at or before a milestone.
func (f *fold) createdBefore(c *Container, milestone *bound) bool {
	created := f.bounds.find(milestoneKey{f.index(c.Name), 0, MilestoneContainerCreated})
	return created != nil && created.estimate() <= milestone.estimate()
}

// watchesReplacement reports whether the agent received all Events about obstacles between the milestone "from" and the
// instant "until". The agent closes a watch when the pod needs no more Events, and no observation shows this. So a
// watch counts only if it opened after the milestone, or if it delivered an Event about a later obstacle.
func (f *fold) watchesReplacement(from *bound, until instant) bool {
	if missed := f.e.eventsMissedUntil(); f.e.mayHaveMissedEvents(until) || missed != 0 && missed > from.earliest {
		return false
	}
	return f.e.watchLastOpened.at >= from.latest || slices.ContainsFunc(f.obstacleEvents, func(h obstacleEvent) bool {
		return h.last.earliest >= from.latest
	})
}

// withFailedReplacement examines a period in which the kubelet failed to replace a lost sandbox. It adds the phases of
// the replacement to the possible phases of the period. If the runtime has reported the loss, the phases contain
// PhaseSandboxLost, and withFailedReplacement adds nothing. Without a runtime, only the Event shows the loss.
func (f *fold) withFailedReplacement(from, to *bound, phases []Phase) []Phase {
	if slices.Contains(phases, PhaseSandboxLost) {
		return phases
	}
	for _, o := range f.laterFailures {
		if o.latest > from.earliest && o.earliest < to.latest {
			phases = uniquePhases(phases, alsoSandboxLost, o.from.row().phases, alsoKubeletSync)
		}
	}
	return phases
}

// sandboxSteps returns the steps up to the beginning of the first sandbox that ran. The agent knows obstacles and
// failed sandboxes only from Events. The runtime does not keep failed sandboxes.
func (f *fold) sandboxSteps() []step {
	begun := step{key: podMilestone(MilestoneSandboxBegun), phase: PhaseVolumes}
	if b := f.bounds.find(begun.key); b != nil {
		begun.undated = !b.origins.has(originStore) // only containerd's store shows when a sandbox began
	}
	if f.e.pod.ResourceClaims {
		begun.also = alsoDevice
	}
	if f.e.imageFirst != 0 && f.mayHavePulledSandboxImage() {
		begun.also = uniquePhases(begun.also, alsoSandboxImage)
	}
	if len(f.obstacles) > 0 {
		return f.obstacleSteps(begun)
	}
	switch {
	case f.firstSandbox() > 0 && !f.e.firstSeen.live:
		// An earlier sandbox failed, or ran until the node rebooted. The kubelet has removed the earlier sandbox.
		begun.also = uniquePhases(
			begun.also, possibleObstacles, []Phase{PhaseKubeletSync, PhaseSandboxLost}, missedAttempts)
	case f.e.sandboxMayHaveFailed(f.bounds.find(begun.key)):
		begun.also = uniquePhases(begun.also, possibleObstacles, []Phase{PhaseKubeletSync})
	case !f.e.pod.RemoteVolumes && f.sandboxDelayed():
		begun.also = uniquePhases(begun.also, []Phase{PhaseAPIServer, PhaseKubeletSync})
	}
	return []step{begun}
}

// pickupStep returns the step that ends when the kubelet picks up the pod. The API server informs the kubelet and the
// agent at the same time. If the agent received the pod late, the API server can be the reason for the kubelet's delay.
func (f *fold) pickupStep() step {
	s := step{key: podMilestone(MilestoneAcknowledged), phase: PhaseKubeletPickup}
	reached := f.bounds.find(f.e.reachedNode())
	if first := f.e.firstSeen; reached != nil && first.new && at(first.at)-reached.latest > firstCheck {
		s.also = alsoAPIServer
	}
	return s
}

// mayPullImageFirst reports whether the runtime might have pulled the sandbox image before a sandbox began (see
// Sandbox.ImageFirst).
func (f *fold) mayPullImageFirst(attempt uint16) bool {
	return f.e.imageFirst.has(attempt) && f.mayHavePulledSandboxImage()
}

// mayHavePulledSandboxImage reports whether a runtime with ImageFirst might have pulled the sandbox image during the
// start-up. If the sandbox image was stored before the pod was created, the runtime did not need to pull the image.
func (f *fold) mayHavePulledSandboxImage() bool {
	created := f.bounds.find(podMilestone(MilestoneCreated))
	return created == nil || f.e.imageStored >= created.earliest
}

// sandboxDelayed reports whether the kubelet might have begun a sandbox so late that the mount of local volumes cannot
// explain the delay. Local volumes need no component other than the kubelet. The kubelet mounts local volumes
// immediately, unless the kubelet waits for the API server or lacks CPU time. Without a store of sandboxes, the
// earliest possible begin is unknown, and only the latest possible begin can exclude a delay.
func (f *fold) sandboxDelayed() bool {
	begun, acknowledged := f.asOf, f.bounds.find(podMilestone(MilestoneAcknowledged))
	if b := f.bounds.find(podMilestone(MilestoneSandboxBegun)); b != nil {
		begun = b.latest
	}
	return acknowledged != nil && begun.sub(acknowledged.latest) > time.Duration(firstCheck)
}
