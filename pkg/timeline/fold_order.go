package timeline

import (
	"cmp"
	"fmt"
	"slices"
)

// maxTighteningRounds is the maximum number of passes over all sequences of milestones. In one pass, a raised lower
// bound can raise the lower bounds of all later milestones in the sequence. But a reduced upper bound can reduce only
// the upper bound of the previous milestone. If the fold stops early, intervals are wider than necessary, but never
// wrong.
const maxTighteningRounds = 8

// sequence lists known milestones in the order in which they must have happened.
type sequence []*bound

// milestonesInOrder returns the known milestones in the order of the kubelet's work: the pod's steps, each image
// volume, each init container, the main containers, readiness. Main containers have no order among themselves, because
// the kubelet starts the next main container even if one fails.
func (f *fold) milestonesInOrder() []sequence {
	gate := f.knownMilestones(f.pod.steps)
	all := append(make([]sequence, 0, 8+3*len(f.containers)),
		gate,
		f.sequence(podMilestone(MilestoneScheduled), podMilestone(MilestoneFailed)),
		f.sequence(podMilestone(MilestoneScheduled), podMilestone(MilestoneSucceeded)),
		f.sequence(podMilestone(MilestoneCreated), podMilestone(MilestoneDeleted)))
	for i, c := range f.containers {
		steps := f.chains[i].steps
		if c.Kind == KindMain {
			all = append(all, slices.Concat(gate, f.knownMilestones(steps)))
			continue
		}
		done := f.firstSuccess(c, steps)
		// The remaining steps are the steps after the first "done" steps. If a container has remaining steps, a
		// separate sequence orders all of its steps, and not only the remaining steps. If an init container has
		// remaining steps, it ran again, because the pod got a new sandbox or because all containers were restarted.
		// For a sidecar, the remaining steps begin with the end of the first run. For an image volume, the remaining
		// steps can happen after the creation of a container.
		if own := f.knownMilestones(steps); done < len(steps) {
			if c.Kind == KindImageVolume {
				own = slices.Concat(gate, own)
				all = append(all, f.lastPullOrder(c))
			}
			all = append(all, own)
		}
		gate = slices.Concat(gate, f.knownMilestones(steps[:done]))
	}
	all = append(all, gate)
	before := podMilestone(MilestoneCreated)
	for _, c := range f.sandboxes {
		all = append(all, slices.Concat(f.sequence(before), f.knownMilestones(c.steps)))
		before = c.steps[len(c.steps)-1].key
	}
	all = append(all, f.workOrder()...)
	all = append(all, f.volumeOrder()...)
	all = append(all, f.pullOrder()...)
	all = append(all, f.endsBeforeFailure()...)
	for _, c := range f.containers {
		if c.Kind == KindInit || c.Kind == KindImageVolume {
			continue
		}
		index := f.index(c.Name)
		run := f.lastAttempt(index, MilestoneRunning)
		probed := f.readyRun(index)
		for earlier := range probed {
			all = append(all, f.sequence(milestoneKey{index, earlier, MilestoneRunning},
				milestoneKey{index, earlier, MilestoneContainerReady}))
		}
		all = append(all, f.sequence(
			milestoneKey{index, min(run, probed), MilestoneRunning},
			milestoneKey{index, probed, MilestonePostStarted}, milestoneKey{index, probed, MilestoneStarted},
			milestoneKey{index, probed, MilestoneContainerReady},
			podMilestone(MilestoneContainersReady), podMilestone(MilestoneReady)))
	}
	var ready sequence
	for _, c := range f.ready {
		ready = append(ready, f.knownMilestones(c.steps)...)
	}
	return append(all, ready)
}

func (f *fold) sequence(keys ...milestoneKey) sequence {
	s := make(sequence, 0, len(keys))
	for _, k := range keys {
		if b := f.bounds.find(k); b != nil {
			s = append(s, b)
		}
	}
	return s
}

func (f *fold) knownMilestones(steps []step) sequence {
	s := make(sequence, 0, len(steps))
	for i := range steps {
		if b := f.bounds.find(steps[i].key); b != nil {
			s = append(s, b)
		}
	}
	return s
}

// firstSuccess returns how many steps of a container happen before the kubelet works on the next container. By default,
// firstSuccess counts all steps. For an init container, firstSuccess counts the steps until the end of the first
// successful run. For a sidecar, firstSuccess counts the steps before the end of the first run. firstSuccess does not
// rely on the step "started", because the agent might have missed the status that reports the first run as started. For
// an image volume, firstSuccess returns the result of stepsBeforeContainers.
func (f *fold) firstSuccess(c *Container, steps []step) int {
	if c.Kind == KindImageVolume {
		return f.stepsBeforeContainers(c, steps)
	}
	if c.Kind == KindSidecar {
		ended := slices.IndexFunc(steps, func(s step) bool { return s.key.milestone == MilestoneFinished })
		if ended >= 0 {
			return ended
		}
	}
	if c.Kind != KindInit {
		return len(steps)
	}
	evidence := &f.e.containers[f.index(c.Name)]
	for i, s := range steps {
		if s.key.milestone != MilestoneFinished {
			continue
		}
		if code, known := evidence.exitCode(int(s.key.attempt)); known && code == 0 {
			return i + 1
		}
	}
	return len(steps)
}

// failureConstraints returns a constraint: the pod failed at Pod.FailedBy or earlier. The fold needs this constraint
// only if the agent did not see the failure live. FailedBy is on the control plane's clock. If a run ended after
// FailedBy according to the node's clock, the two clocks might differ. In this case, failureConstraints returns no
// constraint.
func (f *fold) failureConstraints() []constraint {
	key := podMilestone(MilestoneFailed)
	seen, found := findArrival(f.constraints, key)
	if !found || seen.bias == biasLatest || f.e.pod.FailedBy.IsZero() {
		return nil
	}
	by := f.skew.widen(second(key, originControlPlane, f.e.pod.FailedBy))
	by.earliest = minInstant
	if by.latest >= seen.latest || slices.ContainsFunc(f.constraints, func(c constraint) bool {
		return c.key.milestone == MilestoneFinished && c.earliest > by.latest
	}) {
		return nil
	}
	return []constraint{by}
}

// startConstraints returns an upper limit for the start of each sidecar. The kubelet creates the next containers only
// after the sidecar has started, so their creation is an upper limit. The fold needs the limit only if no status
// reported the start of the sidecar's first run. A status can also report the start of a second run, but the next
// containers wait only for the first run. If the sidecar's second run began before the upper limit, the limit can apply
// to either run. In this case, startConstraints returns no limit for the sidecar.
func (f *fold) startConstraints() (all []constraint) {
	for i, c := range f.containers {
		if c.Kind != KindSidecar {
			continue
		}
		by, from, index := maxInstant, originRuntime, f.index(c.Name)
		for _, later := range f.containers[i+1:] {
			key := milestoneKey{f.index(later.Name), 0, MilestoneContainerCreated}
			if created, _ := f.e.latestTime(key); created < by {
				by, from = created, originRuntime
			}
			key.milestone = MilestoneRunning
			if ran, _ := f.e.latestTime(key); ran < by {
				by, from = ran, originStatus
			}
		}
		if f.onlyFirstRun(index, by) && f.firstAttempt(index, MilestoneStarted, maxAttempts) > 0 {
			all = append(all, constraint{milestoneKey{index, 0, MilestoneStarted}, from, biasLatest, minInstant, by})
		}
	}
	return all
}

// onlyFirstRun reports whether the first run of a container, but no later run, began before the instant "by". A run
// begins with the creation of its container. If no evidence shows the time of the creation, onlyFirstRun uses the start
// of the run instead. The kubelet does no other work between a container's creation and the start of its run.
func (f *fold) onlyFirstRun(index int16, by instant) (began bool) {
	if by == maxInstant {
		return false
	}
	for attempt := range uint16(maxAttempts) {
		since := f.e.earliestTime(milestoneKey{index, attempt, MilestoneContainerCreated})
		if since == minInstant {
			since = f.e.earliestTime(milestoneKey{index, attempt, MilestoneRunning})
		}
		switch {
		case since == minInstant:
		case attempt == 0 && since <= by:
			began = true
		default:
			return since > by && (began || attempt == 1)
		}
	}
	return began
}

// endsBeforeFailure orders the end of each container before the pod's failure. The kubelet reports a pod as failed when
// all its containers have ended. Kubelets before 1.27 reported an evicted pod as failed before its containers had
// ended. If the timestamps show that a container ended after the pod's failure, endsBeforeFailure returns no order for
// this container.
func (f *fold) endsBeforeFailure() []sequence {
	failed := f.bounds.find(podMilestone(MilestoneFailed))
	if failed == nil {
		return nil
	}
	var all []sequence
	for i := range f.bounds {
		if b := &f.bounds[i]; b.key.milestone == MilestoneFinished && b.earliest <= failed.latest {
			all = append(all, sequence{b, failed})
		}
	}
	return all
}

// compareOrder returns -1 if one of the sequences contains a before b, 1 if one contains b before a, and 0 otherwise.
func compareOrder(sequences []sequence, a, b *bound) int {
	for _, s := range sequences {
		if i, j := slices.Index(s, a), slices.Index(s, b); i >= 0 && j >= 0 {
			return cmp.Compare(i, j)
		}
	}
	return 0
}

// tighten narrows the bounds of ordered milestones until nothing changes. If two milestones contradict the order,
// tighten returns a conflict.
func tighten(sequences []sequence) []milestoneConflict {
	broken := relaxControlPlane(sequences)
	first := len(broken)
	for range maxTighteningRounds {
		changed := false
		broken = broken[:first]
		for _, s := range sequences {
			c, b := s.narrowBounds()
			changed = changed || c
			broken = append(broken, b...)
		}
		if !changed {
			break
		}
	}
	return broken
}

// relaxControlPlane handles timestamps of the control plane that should be earlier than a milestone of the node, but
// are later. Such a timestamp shows that the clocks of the node and of the control plane differ. relaxControlPlane
// moves the end of the timestamp's interval back to the end of the milestone's interval. If the end moves back by 3 s,
// for example, the new interval is 3 s long.
func relaxControlPlane(sequences []sequence) (broken []milestoneConflict) {
	for _, s := range sequences {
		for i, b := range s {
			if !b.origins.ofControlPlane() {
				continue
			}
			for _, after := range s[i+1:] {
				if !after.origins.datedOnNode() || b.earliest <= after.latest {
					continue
				}
				broken = append(broken, milestoneConflict{b.key, fmt.Sprintf(
					"%s at %s is after %s at %s: the clocks of control plane and node may differ",
					b.key.milestone, interval(b.earliest, b.latest), after.key.milestone,
					interval(after.earliest, after.latest))})
				b.earliest, b.latest = after.latest-(b.latest-after.latest), after.latest
			}
		}
	}
	return broken
}

// narrowBounds narrows the bounds of the milestones in the sequence s and reports whether any bound changed. If two
// milestones contradict the order, narrowBounds returns a conflict and does not use one of them to narrow the other.
func (s sequence) narrowBounds() (changed bool, broken []milestoneConflict) {
	var before *bound
	for _, b := range s {
		if before != nil {
			if before.earliest > b.latest {
				broken = append(broken, milestoneConflict{b.key, fmt.Sprintf("%s at %s is before %s at %s",
					b.key.milestone, interval(b.earliest, b.latest), before.key.milestone,
					interval(before.earliest, before.latest))})
				continue
			}
			if before.latest > b.latest {
				// The earlier milestone cannot be later than the next milestone, so the earlier milestone's interval
				// becomes shorter. Most likely, the earlier milestone happened near the new end of its interval.
				before.latest, changed = b.latest, true
				if before.bias == biasNone || before.bias == biasSlack || before.bias == biasNextSync {
					before.bias = biasLatest
				}
			}
			if b.earliest < before.earliest {
				b.earliest, changed = before.earliest, true
			}
		}
		before = b
	}
	return changed, broken
}

// orderEstimates puts the estimates in the order of their milestones. Even if the bounds of two milestones are in
// order, their estimates might not be: the earlier milestone's interval can extend past the later milestone's estimate.
func orderEstimates(sequences []sequence) {
	for range maxTighteningRounds {
		changed := false
		for _, s := range sequences {
			changed = s.orderEstimates() || changed
		}
		if !changed {
			return
		}
	}
}

func (s sequence) orderEstimates() (changed bool) {
	var after *bound
	for _, b := range slices.Backward(s) {
		if after != nil {
			limit := after.estimate()
			if limit < b.earliest {
				continue // narrowBounds has already reported this contradiction
			}
			if limit < b.estimate() {
				b.notAfter, changed = limit, true
			}
		}
		after = b
	}
	return changed
}
