package timeline

import (
	"cmp"
	"slices"
	"time"
)

func (e *Evidence) applyPod(o PodSeen) {
	e.keepFirstSighting(o)
	if after := o.ArrivedAt.Compare(e.podSeenAt); after > 0 || after == 0 && comparePods(&o.Pod, &e.pod) > 0 {
		e.podSeenAt, e.pod = o.ArrivedAt, o.Pod
	}
	e.keepReason(o)
	stamped := func(m Milestone, by origin, stamp time.Time) {
		if !stamp.IsZero() {
			e.constrain(second(podMilestone(m), by, stamp))
			e.constrain(arrivalConstraint(podMilestone(m), o.ArrivedAt, o.Live))
		}
	}
	e.keepGeneration(o.Pod.Generation)
	if o.Pod.boundByCreator() && !e.boundByCreator {
		e.boundByCreator, e.changed = true, true
	}
	if o.Pod.KubeletGeneration > 0 && !e.kubelet133 {
		e.kubelet133, e.changed = true, true
	}
	if o.Pod.refusedBeforeBound() {
		stamped(MilestoneUnschedulable, originControlPlane, o.Pod.UnschedulableAt)
	}
	e.constrain(arrivalConstraint(podMilestone(MilestoneCreated), o.ArrivedAt, o.Live))
	if o.Pod.ReadAt.IsZero() {
		stamped(MilestoneCreated, originControlPlane, o.Pod.CreatedAt)
	} else {
		e.constrain(point(podMilestone(MilestoneCreated), originStatus, o.Pod.ReadAt))
	}
	stamped(MilestoneAcknowledged, originStatus, o.Pod.AcknowledgedAt)
	stamped(MilestoneDeleted, originControlPlane, o.Pod.DeletedAt)
	for _, c := range o.Pod.Conditions {
		if !c.True {
			e.applyLost(o, c)
			continue
		}
		switch c.Type {
		case "PodScheduled":
			if o.Pod.ReadAt.IsZero() { // the scheduler does not bind static pods; the kubelet sets PodScheduled later
				stamped(MilestoneScheduled, originControlPlane, c.TransitionAt)
			}
		case "PodReadyToStartContainers":
			// Kubelets before 1.36 can delay PodReadyToStartContainers until after the image pulls. So the arrival of
			// PodReadyToStartContainers is only an upper bound for the start of the sandbox.
			e.constrain(arrivalConstraint(podMilestone(MilestoneSandboxRunning), o.ArrivedAt, o.Live))
		case "ContainersReady":
			stamped(MilestoneContainersReady, originStatus, c.TransitionAt)
			if !c.TransitionAt.IsZero() {
				e.keepReadyTime(readyTime{at(c.TransitionAt), at(o.ArrivedAt), o.Live})
			}
		case "Ready":
			stamped(MilestoneReady, originStatus, c.TransitionAt)
		}
	}
	switch o.Pod.Phase {
	case "Succeeded":
		e.constrain(arrivalConstraint(podMilestone(MilestoneSucceeded), o.ArrivedAt, o.Live))
	case "Failed":
		e.constrain(arrivalConstraint(podMilestone(MilestoneFailed), o.ArrivedAt, o.Live))
	}
	if e.containers == nil {
		e.containers = make([]containerEvidence, 0, min(len(o.Pod.Containers), maxContainers))
	}
	for _, c := range o.Pod.Containers {
		e.applyStatus(o, c)
	}
}

// applyLost handles a condition that is false now. If ContainersReady or Ready was true earlier, applyLost adds upper
// bounds for the time at which the condition became true.
func (e *Evidence) applyLost(o PodSeen, c Condition) {
	var m Milestone
	switch c.Type {
	case "ContainersReady":
		m = MilestoneContainersReady
	case "Ready":
		m = MilestoneReady
	default:
		return
	}
	if !wasTrue(o.Pod, c) {
		return
	}
	e.constrain(constraint{key: podMilestone(m), origin: originStatus, earliest: minInstant,
		latest: at(c.TransitionAt) + instant(time.Second) - 1})
	e.constrain(arrivalConstraint(podMilestone(m), o.ArrivedAt, false))
}

// maxReadyTimes limits the length of Evidence.readyTimes. A pod exceeds this limit only if it loses its readiness again
// and again while it waits for its readiness gates.
const maxReadyTimes = 8

// readyTime is a time at which all containers became ready, with the pod object that first reported it.
type readyTime struct {
	transitionAt, arrivedAt instant // transitionAt is truncated to seconds
	live                    bool
}

// keepReadyTime keeps a time at which all containers became ready. If a container loses its readiness, the condition
// ContainersReady becomes true a second time, with another transition time.
func (e *Evidence) keepReadyTime(t readyTime) {
	i, known := slices.BinarySearchFunc(e.readyTimes, t, func(a, b readyTime) int {
		return cmp.Compare(a.transitionAt, b.transitionAt)
	})
	switch {
	case known && cmp.Or(cmp.Compare(t.arrivedAt, e.readyTimes[i].arrivedAt),
		compareBools(e.readyTimes[i].live, t.live)) >= 0, i == maxReadyTimes:
		return
	case known:
		e.readyTimes[i] = t
	default:
		e.readyTimes = slices.Insert(e.readyTimes, i, t)
		e.readyTimes = e.readyTimes[:min(len(e.readyTimes), maxReadyTimes)]
	}
	e.changed = true
}

func (e *Evidence) keepFirstSighting(o PodSeen) {
	seen := firstSighting{o.ArrivedAt, o.Live, wasReady(o.Pod), o.Pod.AcknowledgedAt.IsZero() && o.Pod.ReadAt.IsZero()}
	if e.firstSeen.at.IsZero() || compareSightings(seen, e.firstSeen) < 0 {
		e.firstSeen, e.changed = seen, true
	}
}

// keepReason keeps the latest reason why a container waits. keepReason ignores the statuses of a deleted, failed or
// succeeded pod, because these statuses report only the consequences of the pod's end.
func (e *Evidence) keepReason(o PodSeen) {
	if !o.Pod.DeletedAt.IsZero() || o.Pod.Phase == "Failed" || o.Pod.Phase == "Succeeded" {
		return
	}
	latest := waitingReason{at: at(o.ArrivedAt)}
	for _, c := range o.Pod.Containers {
		if c.State == StateWaiting && !isNormalWait(c.WaitingReason) {
			latest.reason = cmp.Or(latest.reason, c.WaitingReason)
		}
	}
	if latest.compare(e.waiting) > 0 {
		e.changed = e.changed || latest.reason != e.waiting.reason
		e.waiting = latest
	}
}

// readyAtFirst is the maximum time between two timestamps in the pod's status: startTime, and the transition time of
// the pod's first Ready condition. The first Ready condition has the status False. The kubelet writes both timestamps
// in the same status update, but truncates each timestamp separately.
const readyAtFirst = 2 * time.Second

// wasReady reports whether the pod's start-up is over. The start-up is over if the pod is or was ready, or if the pod
// has succeeded or failed.
func wasReady(p Pod) bool {
	if p.Phase == "Succeeded" || p.Phase == "Failed" {
		return true
	}
	for _, c := range p.Conditions {
		if c.Type == "Ready" {
			return c.True || wasTrue(p, c)
		}
	}
	return false
}

// wasTrue reports whether a condition is false now but was true before. Such a condition has changed after the
// kubelet's first status, so its latest transition is later than the first status.
func wasTrue(p Pod, c Condition) bool {
	return !c.True && !p.AcknowledgedAt.IsZero() && c.TransitionAt.Sub(p.AcknowledgedAt) > readyAtFirst
}
