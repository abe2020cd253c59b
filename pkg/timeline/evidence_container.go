package timeline

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// applyStatus adds the facts from the status of one container. The kubelet polls the runtime's list of containers, and
// detects a start or an exit up to a second late. So the arrival time of a status is only an upper bound for the time
// when a container started or exited. The kubelet runs probes itself and reports their results without delay.
func (e *Evidence) applyStatus(o PodSeen, c Container) {
	index, evidence := e.container(c.Name)
	if evidence == nil {
		return
	}
	if evidence.addImage(observedImage{c.Image, at(o.ArrivedAt)}) {
		e.changed = true
	}
	e.keepRuns(evidence, &c, o.ArrivedAt)
	if evidence.firstRun.add(&o, &c) {
		e.changed = true
	}
	addRun := func(m Milestone, attempt int, stamp time.Time) {
		if !stamp.IsZero() {
			k := milestoneKey{container: index, milestone: m, attempt: clampAttempt(attempt)}
			e.constrain(second(k, originStatus, stamp))
			e.constrain(arrivalConstraint(k, o.ArrivedAt, false))
		}
	}
	addRun(MilestoneRunning, c.Attempt, c.StartedAt)
	if c.State == StateTerminated {
		if !lostRun(c.EndReason, c.ExitCode) {
			addRun(MilestoneFinished, c.Attempt, c.FinishedAt)
		}
		e.keepExit(evidence, c.Attempt, c.ExitCode, c.EndReason)
	}
	if c.LastRun != nil {
		last := c.Attempt - 1
		if c.State == StateWaiting {
			last = c.Attempt // while a container waits, its last run has the number c.Attempt (kubelet_pods.go)
		}
		if last >= 0 {
			addRun(MilestoneRunning, last, c.LastRun.StartedAt)
			if !lostRun(c.LastRun.Reason, c.LastRun.ExitCode) {
				addRun(MilestoneFinished, last, c.LastRun.FinishedAt)
			}
			e.keepExit(evidence, last, c.LastRun.ExitCode, c.LastRun.Reason)
			if c.State == StateWaiting && c.WaitingReason == crashLoop {
				e.keepBackoff(evidence, last, at(o.ArrivedAt))
			}
		}
	}
	if c.State == StateWaiting {
		e.applyWaiting(index, evidence, o, c)
	}
	if c.Kind == KindInit {
		return
	}
	addArrival := func(m Milestone) {
		e.constrain(arrivalConstraint(milestoneKey{index, clampAttempt(c.Attempt), m}, o.ArrivedAt, o.Live))
	}
	if c.PostStartHook && c.State == StateRunning {
		// The kubelet runs the post-start hook immediately after it starts the container. The kubelet writes the status
		// only after the hook has ended (startContainer).
		addArrival(MilestonePostStarted)
	}
	if c.Started {
		addArrival(MilestoneStarted)
	}
	if c.Ready {
		addArrival(MilestoneContainerReady)
	}
}

// applyWaiting adds the facts from the reason why a container waits.
func (e *Evidence) applyWaiting(index int16, evidence *containerEvidence, o PodSeen, c Container) {
	if c.PullFailure != imagepull.FailureNone && c.WaitingReason != invalidName {
		if c.WaitingReason != imageBackOff || !o.Pod.failedEarlier(c) {
			e.applyPullFailure(evidence, o, c)
		}
		if o.Live {
			status := pullStatus{at(o.ArrivedAt), c.WaitingReason == imageBackOff, c.PullFailure}
			keepEarliest(e, &evidence.pullStatuses, status, maxPullStatuses)
		}
	}
	// The kubelet might have restarted if a normal waiting reason follows a failed pull, or if the status comes from a
	// list (see statusGapAt). A status of a pod that is being deleted does not count.
	gap := o.Pod.DeletedAt.IsZero() && (!o.Live || isNormalWait(c.WaitingReason))
	if at := at(o.ArrivedAt); gap && at > evidence.statusGapAt {
		evidence.statusGapAt, e.changed = at, e.changed || len(evidence.pullStatuses) > 0
	}
	if m, refused := imageMilestones[c.WaitingReason]; refused && c.Attempt == 0 && c.LastRun == nil {
		e.constrain(arrivalConstraint(milestoneKey{index, 0, m}, o.ArrivedAt, o.Live))
	}
	if m, refused := createFailureMilestones[c.WaitingReason]; refused {
		if m == MilestoneConfigRefused {
			e.keepRefusalCause(evidence, c.Misconfigured, at(o.ArrivedAt))
		}
		next := c.Attempt
		if c.LastRun != nil {
			next++ // the run with the number c.Attempt has ended, so the failure concerns the next run
		}
		e.constrain(arrivalConstraint(milestoneKey{index, clampAttempt(next), m}, o.ArrivedAt, o.Live))
	}
}

// isNormalWait reports whether a waiting reason is normal, and not a failure. The kubelet reports a normal reason for a
// container that it has not yet tried to start.
func isNormalWait(reason string) bool {
	return reason == "ContainerCreating" || reason == "PodInitializing"
}

// invalidName is the waiting reason that the kubelet reports if the kubelet cannot parse the name of an image. The
// kubelet does not pull an image with an invalid name.
const invalidName = "InvalidImageName"

// imageMilestones maps waiting reasons to milestones. The kubelet reports these reasons if an error occurs before it
// requests a pull, so the registry is not involved.
var imageMilestones = map[string]Milestone{
	invalidName:         MilestoneNameRefused,
	"ImageInspectError": MilestoneInspectFailed, // the runtime does not report whether it has the image
}

// createFailureMilestones maps waiting reasons to milestones. The kubelet reports these reasons if it cannot create a
// container. A milestone gets its time from the first status with one of the milestone's reasons. The kubelet retries
// until it can create the container (packages kuberuntime and images).
var createFailureMilestones = map[string]Milestone{
	// A ConfigMap, Secret or key is missing, or the container would run as root.
	"CreateContainerConfigError": MilestoneConfigRefused,
	"ErrImageNeverPull":          MilestoneConfigRefused, // the image is absent, and the pull policy forbids a pull
	"CreateContainerError":       MilestoneCreateFailed,
}

// applyPullFailure adds the facts from a status that reports a failed pull. The kubelet writes the status at its next
// sync of the pod after the failure (see nextSyncLeast). If no Event reports the failure, the timeline derives the time
// of the failure from the arrival time of the status.
func (e *Evidence) applyPullFailure(evidence *containerEvidence, o PodSeen, c Container) {
	f := failureEvent{window: arrivalWindow(o.ArrivedAt, o.Live), why: c.PullFailure}
	beforeRun := c.Attempt == 0 && c.LastRun == nil
	switch first := evidence.statusFailure; {
	case first == nil || f.compare(*first) < 0:
		evidence.statusFailure, evidence.failedBeforeRun, e.changed = &f, beforeRun, true
	case beforeRun && !evidence.failedBeforeRun && f.compare(*first) == 0:
		evidence.failedBeforeRun, e.changed = true, true
	}
	if !slices.Contains(evidence.statusReasons, c.PullFailure) {
		evidence.statusReasons, e.changed = append(evidence.statusReasons, c.PullFailure), true
	}
}

// keepExit records the exit code of a run. If exit codes contradict each other, keepExit keeps the highest exit
// code, so the order of arrival does not matter.
func (e *Evidence) keepExit(c *containerEvidence, attempt, code int, reason string) {
	if attempt >= maxAttempts {
		return
	}
	ended := runExit{attempt: attempt, code: code, outOfMemory: reason == reasonOutOfMemory}
	known := c.exitOf(attempt)
	if known == nil {
		c.exits, e.changed = append(c.exits, ended), true
		return
	}
	ended.code, ended.outOfMemory = max(code, known.code), ended.outOfMemory || known.outOfMemory
	ended.backoffAt = known.backoffAt
	e.changed = e.changed || ended != *known
	*known = ended
}

// keepBackoff records that a status reported a back-off after a run. keepBackoff keeps the earliest arrival time.
func (e *Evidence) keepBackoff(c *containerEvidence, attempt int, arrivedAt instant) {
	if known := c.exitOf(attempt); known != nil && (known.backoffAt == 0 || arrivedAt < known.backoffAt) {
		known.backoffAt, e.changed = arrivedAt, true
	}
}

// exitOf returns the known facts about the end of a run, or nil.
func (c *containerEvidence) exitOf(attempt int) *runExit {
	for i := range c.exits {
		if c.exits[i].attempt == attempt {
			return &c.exits[i]
		}
	}
	return nil
}

// exitCode returns the exit code of a run. If the exit code is unknown, ok is false.
func (c *containerEvidence) exitCode(attempt int) (code int, ok bool) {
	if x := c.exitOf(attempt); x != nil {
		return x.code, true
	}
	return 0, false
}

func clampAttempt(n int) uint16 { return uint16(min(max(n, 0), 1<<16-1)) }
