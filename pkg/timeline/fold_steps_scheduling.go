package timeline

import (
	"slices"
	"time"
)

// schedulingSlack usually bounds the time from a pod's creation to the scheduler's result that no node fits. It is also
// the shortest delay by a scheduling gate that the timeline reports. The timestamps are truncated to seconds.
const schedulingSlack = instant(time.Second)

// alsoScheduling returns the other phases that a wait for a node may contain, if no evidence separates the scheduler
// from the owner of a gate.
var (
	alsoScheduling = []Phase{PhaseScheduling}
	alsoEither     = []Phase{PhaseUnschedulable, PhaseScheduling}
)

// keepGeneration keeps the lowest generation of the spec that was seen.
func (e *Evidence) keepGeneration(generation int64) {
	if generation > 0 && (e.generation == 0 || generation < e.generation) {
		e.generation, e.changed = generation, true
	}
}

// appendScheduling adds the steps from the creation to the binding. The agent sees a pod only once it is bound, so
// it derives what happened before from the object:
//
//   - A scheduler that finds no node writes that to the pod's condition, and so to its managed fields.
//     Only the latest such write is kept; until then, the pod may have waited for the scheduler itself.
//   - A scheduler that has chosen a node for a pod whose claim is bound late waits for the volume. The object does
//     not show that.
//   - The removal of a scheduling gate creates a new generation of the spec. So no gate held up a pod of the first
//     generation.
func (f *fold) appendScheduling(steps []step) []step {
	bound := step{key: podMilestone(MilestoneScheduled), phase: PhaseScheduling}
	created, refused := f.bounds.find(podMilestone(MilestoneCreated)),
		f.bounds.find(podMilestone(MilestoneUnschedulable))
	mayBeGated, tookLong := f.mayBeGated(), f.boundAfter(created, schedulingSlack)
	begun := created
	switch {
	case refused != nil:
		bound.phase, begun = PhaseUnschedulable, refused
		if created != nil && refused.earliest-created.latest > schedulingSlack {
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

// mayBeGated reports whether a scheduling gate may have held the pod up.
func (f *fold) mayBeGated() bool { return f.e.generation != 1 }

// undatedScheduling is how much of the time from the creation to the binding may belong to another party: the time
// before the scheduler reported that no node fits; without such a report all of it, unless a gate and such a report
// are both ruled out.
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

// alsoForClaims adds the phases for a pod that claims a volume or a device. If the volume or device is not ready, the
// wait for it leaves no trace on the object.
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

// boundAfter reports whether a pod was certainly bound later than slack after an instant.
func (f *fold) boundAfter(begun *bound, slack instant) bool {
	bound := f.bounds.find(podMilestone(MilestoneScheduled))
	return begun != nil && bound != nil && bound.earliest-begun.latest > slack
}

// refusedBeforeBound reports whether the scheduler's result that no node fits is not later than the pod's binding.
func (p *Pod) refusedBeforeBound() bool {
	for _, c := range p.Conditions {
		if c.Type == "PodScheduled" && c.True {
			return !p.UnschedulableAt.After(c.TransitionAt)
		}
	}
	return true
}
