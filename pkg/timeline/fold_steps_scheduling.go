package timeline

import (
	"slices"
	"time"
)

// schedulingSlack is the usual maximum time from a pod's creation to the scheduler's report that no node fits. The
// timestamps are truncated to seconds. So the timeline attributes a delay to a scheduling gate only if the delay is
// longer than schedulingSlack.
const schedulingSlack = instant(time.Second)

// These lists hold further phases that are possible before the binding. The fold uses the lists if the evidence does
// not show in which phase the pod was.
var (
	alsoScheduling = []Phase{PhaseScheduling}
	alsoEither     = []Phase{PhaseUnschedulable, PhaseScheduling}
)

// keepGeneration keeps the lowest observed generation of the pod's spec.
func (e *Evidence) keepGeneration(generation int64) {
	if generation > 0 && (e.generation == 0 || generation < e.generation) {
		e.generation, e.changed = generation, true
	}
}

// appendScheduling adds the steps from the creation to the binding. The agent sees a pod only after its binding, so the
// fold derives the earlier steps from the pod object:
//
//   - If the scheduler finds no node, the scheduler writes this result to the condition PodScheduled. The managed
//     fields show only the last time at which the scheduler wrote the condition PodScheduled. Before the last write,
//     the pod might have waited for the scheduler and not for a node.
//   - If the scheduler has chosen a node, but a volume claim of the pod is not bound yet, the scheduler waits for the
//     volume. The pod object does not show the wait for a volume.
//   - The removal of a scheduling gate increases the generation of the spec. So no gate delayed a pod whose generation
//     is still 1.
func (f *fold) appendScheduling(steps []step) []step {
	bound := step{key: podMilestone(MilestoneScheduled), phase: PhaseScheduling}
	created, refused := f.bounds.find(podMilestone(MilestoneCreated)),
		f.bounds.find(podMilestone(MilestoneUnschedulable))
	mayBeGated, tookLong := f.mayBeGated(), f.boundAfter(created, schedulingSlack)
	begun := created
	switch {
	case refused != nil:
		bound.phase, begun = PhaseUnschedulable, refused
		if created != nil && refused.earliest.sub(created.latest) > time.Duration(schedulingSlack) {
			first := step{key: refused.key, phase: PhaseUnschedulable, also: alsoScheduling}
			if mayBeGated {
				first.phase, first.also = PhaseSchedulingGate, alsoEither
			}
			first.also = f.alsoForClaims(first.also)
			steps = append(steps, first)
		}
	case mayBeGated && tookLong:
		bound.phase, bound.also = PhaseSchedulingGate, alsoScheduling
		if !f.e.pod.FieldsManaged {
			bound.also = alsoEither
		}
	case !f.e.pod.FieldsManaged && tookLong:
		bound.phase, bound.also = PhaseUnschedulable, alsoScheduling
	}
	if f.boundAfter(begun, 0) {
		bound.also = f.alsoForClaims(bound.also)
	}
	return append(steps, bound)
}

// mayBeGated reports whether a scheduling gate might have delayed the pod.
func (f *fold) mayBeGated() bool { return f.e.generation != 1 }

// undatedScheduling returns how much of the time from creation to binding can have a cause other than s.Cause:
//
//   - If s began before the scheduler reported that no node fits, the result is a sum: the time from the creation to
//     this report, plus the uncertainty of the binding's time.
//   - If no report of the scheduler is known, and a scheduling gate might have delayed the pod, the result is the
//     duration of s.
//   - If the object had no managed fields, it could not show a report of the scheduler. Then the result is also the
//     duration of s.
//
// The last two cases apply only if the binding is certainly later than the creation. In all other cases, the result is
// zero.
func (f *fold) undatedScheduling(s Span) time.Duration {
	created, bound := f.bounds.find(podMilestone(MilestoneCreated)), f.bounds.find(podMilestone(MilestoneScheduled))
	refused := f.bounds.find(podMilestone(MilestoneUnschedulable))
	switch {
	case created == nil || bound == nil:
		return 0
	case refused != nil && s.StartAt.Before(refused.estimate().time()):
		return refused.latest.sub(created.earliest) + bound.latest.sub(bound.earliest)
	case refused == nil && f.boundAfter(created, 0) && (f.mayBeGated() || !f.e.pod.FieldsManaged):
		return s.Duration()
	}
	return 0
}

// alsoForClaims adds the phases for a pod that claims a volume or a device. The pod object does not show whether the
// pod waited for the volume or device.
func (f *fold) alsoForClaims(also []Phase) []Phase {
	also = slices.Clip(also)
	if f.e.pod.VolumeClaims {
		also = append(also, PhaseVolumes)
	}
	if f.e.pod.ResourceClaims {
		also = append(also, PhaseDevice)
	}
	return also
}

// boundAfter reports whether the time from the milestone "begun" to the pod's binding is certainly longer than the
// argument "slack".
func (f *fold) boundAfter(begun *bound, slack instant) bool {
	bound := f.bounds.find(podMilestone(MilestoneScheduled))
	return begun != nil && bound != nil && bound.earliest.sub(begun.latest) > time.Duration(slack)
}

// refusedBeforeBound reports whether the scheduler's report "no node fits" is earlier than the pod's binding.
// refusedBeforeBound also returns true if the report and the binding have the same timestamp.
func (p *Pod) refusedBeforeBound() bool {
	for _, c := range p.Conditions {
		if c.Type == "PodScheduled" && c.True {
			return !p.UnschedulableAt.After(c.TransitionAt)
		}
	}
	return true
}

// boundByCreator reports whether the pod's creator set the node in the spec (spec.nodeName), so that no scheduler was
// involved. When a scheduler binds a pod, the API server sets the node and the condition PodScheduled in one update
// (BindingREST in registry/core/pod/storage). So without a scheduler, the pod has a node but no true PodScheduled
// until the kubelet writes its first status. The kubelet then stamps PodScheduled with the time of this status.
func (p *Pod) boundByCreator() bool {
	return p.ReadAt.IsZero() && (p.ScheduledByKubelet || p.AcknowledgedAt.IsZero() &&
		!slices.ContainsFunc(p.Conditions, func(c Condition) bool { return c.Type == "PodScheduled" && c.True }))
}

// reachedNode returns the milestone at which the kubelet could pick up the pod: the binding, or the creation if the
// pod's creator set the node.
func (e *Evidence) reachedNode() milestoneKey {
	if e.boundByCreator {
		return podMilestone(MilestoneCreated)
	}
	return podMilestone(MilestoneScheduled)
}
