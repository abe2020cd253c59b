package timeline

import (
	"slices"
	"time"
)

// schedulingSlack is how long after a pod's creation a scheduler finds out at the latest, as a rule, that no node fits, and
// how much a scheduling gate has to hold a pod up to be worth a name. The stamps are floored to a second.
const schedulingSlack = instant(time.Second)

// alsoScheduling is what a wait for a node may be where nothing tells a scheduler from the owner of a gate.
var (
	alsoScheduling = []Phase{PhaseScheduling}
	alsoEither     = []Phase{PhaseUnschedulable, PhaseScheduling}
)

// keepGeneration keeps the lowest version of the spec that was seen.
func (e *Evidence) keepGeneration(generation int64) {
	if generation > 0 && (e.generation == 0 || generation < e.generation) {
		e.generation, e.changed = generation, true
	}
}

// appendScheduling adds the way from creation to the binding. The agent sees a pod only when it is bound, so what happened
// before is read off the object:
//
//   - a scheduler that finds no node writes that into the pod's condition, and so into its managed fields. Only its latest word is
//     there: until then the pod may have waited for the scheduler itself;
//   - a scheduler that has chosen a node for a pod whose claim is bound late waits for its volume, and says so nowhere on the object;
//   - a scheduling gate is removed by a new version of the spec, so a pod of the first version had none that held it up.
func (f *fold) appendScheduling(steps []step) []step {
	bound := step{key: podMark(MarkScheduled), phase: PhaseScheduling}
	created, refused := f.bounds.find(podMark(MarkCreated)), f.bounds.find(podMark(MarkUnschedulable))
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

// mayBeGated says that a scheduling gate may have held the pod up.
func (f *fold) mayBeGated() bool { return f.e.generation != 1 }

// undatedScheduling is how much of the way from creation to the binding may be somebody else's: what came before a scheduler's word that
// no node fits; and without a word all of it, unless neither a gate nor such a word can have been there.
func (f *fold) undatedScheduling(s Span) time.Duration {
	created, bound := f.bounds.find(podMark(MarkCreated)), f.bounds.find(podMark(MarkScheduled))
	refused := f.bounds.find(podMark(MarkUnschedulable))
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

// alsoForClaims adds what a pod may wait for, with no word on the object, because it claims a volume or a device that is not there.
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

// boundAfter says that a pod was given its node longer after an instant than so, whatever the stamps leave in doubt.
func (f *fold) boundAfter(begun *bound, slack instant) bool {
	bound := f.bounds.find(podMark(MarkScheduled))
	return begun != nil && bound != nil && bound.earliest-begun.latest > slack
}

// refusedBeforeBound says that a scheduler's word that no node fits is not of a later time than the pod's binding.
func (p *Pod) refusedBeforeBound() bool {
	for _, c := range p.Conditions {
		if c.Type == "PodScheduled" && c.True {
			return !p.UnschedulableAt.After(c.TransitionAt)
		}
	}
	return true
}
