package timeline

import (
	"cmp"
	"slices"
	"time"
)

// terminationStep is one step of a termination: its phase, and the milestone at its end.
type terminationStep struct {
	phase Phase
	// The field "also" lists other phases that the step can contain. The evidence cannot separate these phases from
	// the step's own phase.
	also []Phase
	// The field "hidden" lists work of other parties that is part of the step, but usually takes little time. If the
	// step lasts longer than usualCleanup, this work might have taken the time.
	hidden    []Phase
	container string
	end       bound
	known     bool // there is evidence for the end of the step
	milestone string
}

// terminationSteps returns the steps of the pod's termination, in order. The kubelet stops all main containers at the
// same time, and the pod waits for the last main container. The kubelet stops sidecars after the containers that they
// serve.
func (f *terminationFold) terminationSteps() []terminationStep {
	steps := []terminationStep{{phase: PhaseKubeletPickup, end: f.begun, known: f.begunKnown, milestone: "stop_begun"}}
	var mains, sidecars []stopBound
	for _, s := range f.stopped {
		if f.t.Stops[s.index].Kind == KindSidecar {
			sidecars = append(sidecars, s)
		} else {
			mains = append(mains, s)
		}
	}
	// If no evidence shows when a container ended, its latest possible end is f.gone.latest. So the function "later"
	// can choose this container as the last container.
	later := func(a, b stopBound) int {
		return cmp.Or(cmp.Compare(a.latest, b.latest), cmp.Compare(a.estimate(), b.estimate()))
	}
	last := bound{earliest: f.requested.earliest, latest: f.requested.latest}
	if len(mains) > 0 {
		s := slices.MaxFunc(mains, later)
		steps, last = f.stopSteps(steps, s), s.bound
	}
	slices.SortStableFunc(sidecars, later)
	for _, s := range sidecars {
		if s.latest > last.latest {
			steps, last = f.stopSteps(steps, s), s.bound
		}
	}

	down := bound{earliest: max(f.e.sandboxReady, last.earliest), latest: f.gone.latest}
	if f.e.sandboxDown != 0 {
		down.latest = min(f.e.sandboxDown, f.gone.latest)
		down.origins = origins(0).with(originRuntime)
	}
	down.earliest = min(down.earliest, down.latest)
	lost := slices.ContainsFunc(f.stopped, func(s stopBound) bool { return s.lost })
	steps = append(steps, terminationStep{phase: PhaseSandboxStop, hidden: f.hiddenInSandboxStop(), end: down,
		known: f.e.sandboxDown != 0 && !lost, milestone: "sandbox_stopped"})
	gone := f.gone
	gone.earliest = min(max(gone.earliest, down.earliest, f.e.sandboxReady), gone.latest)
	if f.e.hadFinalizers && f.e.releasedAt <= f.gone.latest {
		let := bound{earliest: gone.earliest, latest: f.e.releasedAt, bias: biasLatest,
			origins: origins(0).with(originArrival)}
		let.earliest = min(let.earliest, let.latest)
		steps = append(steps, terminationStep{phase: PhaseObjectDeletion, hidden: f.hiddenInObjectDeletion(), end: let,
			known: true, milestone: "released"})
		return append(steps, terminationStep{phase: PhaseFinalizers, end: gone, known: f.e.Over(), milestone: "gone"})
	}
	return append(steps, terminationStep{phase: PhaseObjectDeletion, hidden: f.hiddenInObjectDeletion(), end: gone,
		known: f.e.Over(), milestone: "gone"})
}

// stopSteps appends the steps up to the end of a container. The end of the container's grace period is known only
// under two conditions: the container has the pod's grace period, and no client shortened this period. If a client
// changes the grace period, the grace period starts again. If the pod has more than maxStops containers, the container
// that stopped last might be missing from the evidence. A container stops late for one of two reasons: the kubelet or
// the runtime was not running, or the kill was slow. Even if a kill comes late, the container has one full grace
// period before the kill.
func (f *terminationFold) stopSteps(steps []terminationStep, s stopBound) []terminationStep {
	stop := f.t.Stops[s.index]
	step := terminationStep{
		phase: PhaseGrace, container: stop.Container,
		end: s.bound, known: s.known && !f.e.overflow, milestone: "stopped",
	}
	if stop.PreStopHook {
		step.phase, step.also = PhasePreStopHook, []Phase{PhaseGrace}
	}
	if stop.How == StopKilled && f.begunKnown && !f.e.shortened && !f.e.overflow && !f.graceUnknown() &&
		f.killedOnTime(stop.Container) {
		due := f.begun
		due.earliest, due.latest = due.earliest+instant(f.killAfter()), due.latest+instant(f.killAfter())
		if due.notAfter != 0 {
			due.notAfter += instant(f.killAfter())
		}
		due.latest = min(due.latest, s.latest)
		due.earliest = min(due.earliest, due.latest)
		step.end, step.milestone = due, "grace_over"
		steps = append(steps, step)
		step = terminationStep{phase: PhaseKill, container: stop.Container, end: s.bound, known: true,
			milestone: "stopped"}
	}
	if s.late {
		step.phase, step.also = PhaseKubeletPickup, []Phase{PhaseGrace, PhaseKill}
		if stop.PreStopHook {
			step.also = []Phase{PhasePreStopHook, PhaseGrace, PhaseKill}
		}
	}
	if s.lost {
		step.also, step.known = append(step.also, PhaseKill, PhaseSandboxStop, PhaseObjectDeletion), false
	}
	return append(steps, step)
}

// toPhases converts the steps to phases without gaps. If the end of a step is unknown, the method merges the step with
// the following steps. If all possible phases of the merged steps have the same cause, the merged phase has the name of
// the first step. If the causes differ, the merged phase is PhaseUnattributed.
func (f *terminationFold) toPhases(steps []terminationStep) {
	from, start := f.requested, f.requested.estimate()
	f.t.RequestedAt = start.time()
	var merged []terminationStep
	for i, step := range steps {
		merged = append(merged, step)
		final := i == len(steps)-1
		if !step.known && !final {
			if f.e.Over() && step.milestone != "stopped" {
				f.t.Missing = append(f.t.Missing, step.milestone)
			}
			if step.milestone != "stopped" || f.e.Over() {
				continue
			}
		}
		open := !step.known
		until := max(min(step.end.estimate(), f.gone.latest), start)
		if open {
			until = max(f.now, start)
		}
		f.t.Phases = append(f.t.Phases, f.span(merged, from, start, step.end, until, open))
		from, start, merged = step.end, until, nil
		if open {
			break
		}
	}
	if f.e.Over() {
		f.t.GoneAt = start.time()
	} else {
		from = bound{earliest: start, latest: start}
	}
	f.t.TotalError = lengthError(f.requested, from.withEstimate(start))
	f.t.Total = start.sub(f.requested.estimate())
}

func (f *terminationFold) span(
	merged []terminationStep, from bound, start instant, to bound, until instant, open bool,
) Span {
	s := Span{
		Phase: merged[0].phase, Cause: terminationCauses[merged[0].phase], Container: merged[0].container,
		StartAt: start.time(), EndAt: until.time(),
		Sources: (from.origins | to.origins).sources(), Open: open,
	}
	var names, hidden []Phase
	for _, step := range merged {
		s.Container = cmp.Or(s.Container, step.container)
		names = uniquePhases(names, []Phase{step.phase}, step.also)
		hidden = uniquePhases(hidden, step.hidden)
	}
	if s.Duration() > usualCleanup {
		names = uniquePhases(names, hidden)
	}
	if slices.ContainsFunc(names, func(p Phase) bool { return terminationCauses[p] != s.Cause }) {
		s.Cause = CauseUnknown
	}
	switch {
	case s.Cause == CauseUnknown:
		s.Phase, s.MergedWith = PhaseUnattributed, names
	case len(names) > 1:
		s.MergedWith = names[1:]
	}
	if open {
		to = bound{earliest: until, latest: until}
	}
	s.Error = lengthError(from.withEstimate(start), to.withEstimate(until))
	if len(hidden) > 0 && s.Cause != CauseUnknown {
		s.Error = max(s.Error, s.Duration()) // no evidence shows how much of the time the hidden work took
	}
	return s
}

// withEstimate returns a copy of the bound that has the given estimate. The caller derives this estimate from
// neighboring bounds.
func (b bound) withEstimate(estimate instant) bound {
	b.notBefore, b.notAfter = estimate, estimate
	return b
}

// lengthError returns the error bound of the estimated time between two milestones.
func lengthError(from, to bound) time.Duration {
	length := to.estimate() - from.estimate()
	longest, shortest := to.latest-from.earliest, max(0, to.earliest-from.latest)
	return time.Duration(max(0, longest-length, length-shortest))
}
