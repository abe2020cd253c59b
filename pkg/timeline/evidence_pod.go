package timeline

import (
	"cmp"
	"time"
)

func (e *Evidence) applyPod(o PodSeen) {
	e.keepFirstSighting(o)
	if after := o.ArrivedAt.Compare(e.podSeenAt); after > 0 || after == 0 && comparePods(&o.Pod, &e.pod) > 0 {
		e.podSeenAt, e.pod = o.ArrivedAt, o.Pod
	}
	e.keepReason(o)
	stamped := func(m Mark, by origin, stamp time.Time) {
		if !stamp.IsZero() {
			e.constrain(second(podMark(m), by, stamp))
			e.constrain(arrival(podMark(m), originArrival, o.ArrivedAt, o.Live))
		}
	}
	e.keepGeneration(o.Pod.Generation)
	if o.Pod.KubeletGeneration > 0 && !e.kubelet133 {
		e.kubelet133, e.changed = true, true
	}
	if o.Pod.refusedBeforeBound() {
		stamped(MarkUnschedulable, originControlPlane, o.Pod.UnschedulableAt)
	}
	e.constrain(arrival(podMark(MarkCreated), originArrival, o.ArrivedAt, o.Live))
	if o.Pod.ReadAt.IsZero() {
		stamped(MarkCreated, originControlPlane, o.Pod.CreatedAt)
	} else {
		e.constrain(point(podMark(MarkCreated), originStatus, o.Pod.ReadAt))
	}
	stamped(MarkAcknowledged, originStatus, o.Pod.AcknowledgedAt)
	stamped(MarkDeleted, originControlPlane, o.Pod.DeletedAt)
	for _, c := range o.Pod.Conditions {
		if !c.True {
			e.applyLost(o, c)
			continue
		}
		switch c.Type {
		case "PodScheduled":
			if o.Pod.ReadAt.IsZero() { // nobody schedules a static pod; the kubelet sets the condition later
				stamped(MarkScheduled, originControlPlane, c.TransitionAt)
			}
		case "PodReadyToStartContainers":
			// Prompt only from kubelet 1.36; before, it can come after the pulls: an upper bound.
			e.constrain(arrival(podMark(MarkSandboxRunning), originArrival, o.ArrivedAt, o.Live))
		case "ContainersReady":
			stamped(MarkContainersReady, originStatus, c.TransitionAt)
		case "Ready":
			stamped(MarkReady, originStatus, c.TransitionAt)
		}
	}
	switch o.Pod.Phase {
	case "Succeeded":
		e.constrain(arrival(podMark(MarkSucceeded), originArrival, o.ArrivedAt, o.Live))
	case "Failed":
		e.constrain(arrival(podMark(MarkFailed), originArrival, o.ArrivedAt, o.Live))
	}
	if e.containers == nil {
		e.containers = make([]containerEvidence, 0, min(len(o.Pod.Containers), maxContainers))
	}
	for _, c := range o.Pod.Containers {
		e.applyStatus(o, c)
	}
}

// applyLost reads a condition that is no longer true: whenever it was, it was before.
func (e *Evidence) applyLost(o PodSeen, c Condition) {
	var m Mark
	switch c.Type {
	case "ContainersReady":
		m = MarkContainersReady
	case "Ready":
		m = MarkReady
	default:
		return
	}
	if !wasTrue(o.Pod, c) {
		return
	}
	e.constrain(constraint{key: podMark(m), origin: originStatus, earliest: minInstant, latest: at(c.TransitionAt) + instant(time.Second) - 1})
	e.constrain(arrival(podMark(m), originArrival, o.ArrivedAt, false))
}

func (e *Evidence) keepFirstSighting(o PodSeen) {
	seen := sighting{o.ArrivedAt, o.Live, wasReady(o.Pod), o.Pod.AcknowledgedAt.IsZero() && o.Pod.ReadAt.IsZero()}
	if e.firstSeen.at.IsZero() || compareSightings(seen, e.firstSeen) < 0 {
		e.firstSeen, e.changed = seen, true
	}
}

// keepReason keeps what the kubelet said last of a container that waits, before the pod was deleted or failed: its containers'
// statuses then say what that did to them.
func (e *Evidence) keepReason(o PodSeen) {
	if !o.Pod.DeletedAt.IsZero() || o.Pod.Phase == "Failed" || o.Pod.Phase == "Succeeded" {
		return
	}
	latest := waitingReason{at: at(o.ArrivedAt)}
	for _, c := range o.Pod.Containers {
		if c.State == StateWaiting && c.WaitingReason != "ContainerCreating" && c.WaitingReason != "PodInitializing" {
			latest.reason = cmp.Or(latest.reason, c.WaitingReason)
		}
	}
	if latest.compare(e.waiting) > 0 {
		e.changed = e.changed || latest.reason != e.waiting.reason
		e.waiting = latest
	}
}

// readyAtFirst bounds how long after the kubelet took a pod up it writes the first, false, Ready condition:
// both go out with the same status, but their stamps are floored on their own.
const readyAtFirst = 2 * time.Second

// wasReady says that the pod's start-up is over.
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

// wasTrue says that a condition which is false had been true before: it turned later than it was first written.
func wasTrue(p Pod, c Condition) bool {
	return !c.True && !p.AcknowledgedAt.IsZero() && c.TransitionAt.Sub(p.AcknowledgedAt) > readyAtFirst
}
