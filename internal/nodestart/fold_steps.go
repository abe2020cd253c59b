package nodestart

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	// quickLag is the longest time from the end of the last problem until the kubelet reports the node as ready. In the
	// kubelet's first two minutes, its function fastStatusUpdateOnce checks every 100 ms whether the node is ready.
	// quickLag includes the duration of a check.
	quickLag = 500 * time.Millisecond
	// quickFor is a bit less than two minutes. In its first two minutes, the kubelet checks its status every 100 ms.
	quickFor = 110 * time.Second
	// slowLag replaces quickLag if it is not certain that the kubelet checks its status every 100 ms. slowLag is the
	// sum of two intervals: normally, the kubelet checks the runtime every 5 s, and its own status every 10 s.
	slowLag = 15 * time.Second
)

// addPhases adds all phases of the start-up.
func (f *fold) addPhases() {
	f.addPhasesUntilRegistered()
	f.addPhasesUntilReady()
	again := f.first != nil && f.first.again != nil
	if again { // the pod was bound to the node before the boot, so taints did not delay it
		f.endPhaseAt(f.first.ready, Span{Phase: PhaseWorkload, Pod: f.first.name()})
		return
	}
	f.addPhasesUntilSchedulable()
	f.addPhasesUntilWorkload()
}

// noLaterThanBinding returns the earlier of two times: the given boundary, and the binding of the first workload pod.
// If a pod tolerates a taint, the pod can be bound before the removal of the taint.
func (f *fold) noLaterThanBinding(k known) known {
	if f.first == nil || f.first.again != nil || !f.first.bound.isKnown {
		return k
	}
	b := f.first.bound
	if !k.isKnown {
		return b
	}
	sources := k.sources
	if b.at.Before(k.at) {
		sources = b.sources
	}
	return knownAs(earlierOf(k.interval, b.interval), sources...)
}

// staleAfter is how long the last known version of the Node object counts as the current version.
const staleAfter = 30 * time.Second

// provenEnd returns the end of a problem or of a taint. If the first workload pod was bound earlier, the result is the
// time of its binding. If the end is unknown, the result is not later than the last proof that the problem or the taint
// still existed. But the result stays unknown if the start-up is in progress, no workload pod is bound, and the proof
// is younger than staleAfter. The result "all" is false if no evidence shows the node's state after the returned
// boundary.
func (f *fold) provenEnd(end known) (_ known, all bool) {
	if end.isKnown || len(f.states) == 0 {
		return f.noLaterThanBinding(end), end.isKnown || f.open
	}
	last := f.states[len(f.states)-1]
	sure := later(last.sureAt, last.arrivedAt)
	if to := f.noLaterThanBinding(end); to.isKnown {
		if !sure.Before(to.latest) {
			return to, true
		}
		return knownAs(earlierOf(to.interval, exactly(sure)), sourceNode), false
	}
	if f.open && f.now.Sub(sure) < staleAfter {
		return end, true
	}
	return knownAs(exactly(sure), sourceNode), false
}

// nodePhases returns the phases between the registration and the binding of the first workload pod.
func nodePhases() []Phase {
	return []Phase{PhaseRuntime, PhaseNetworkPlugin, PhaseKubelet, PhaseTaint, PhaseAwaitingPod, PhaseWorkload}
}

func (f *fold) addPhasesUntilRegistered() {
	begin := []Phase{PhaseMachine}
	if f.kubelet.isKnown {
		// A pod that is bound while the machine boots does not end the phase PhaseMachine.
		f.endPhaseAt(f.kubelet, Span{Phase: PhaseMachine})
		begin = nil
	} else {
		f.missing = append(f.missing, "kubelet_started")
	}
	span := Span{Phase: PhaseUnattributed, Candidates: append(begin, PhaseRegistration)}
	switch {
	case !f.registered.isKnown && (f.firstSeen.IsZero() || f.first != nil):
		f.missing = append(f.missing, "registered")
		span.Candidates = append(span.Candidates, nodePhases()...)
	case f.kubelet.isKnown:
		span = Span{Phase: PhaseRegistration}
	}
	end := f.noLaterThanBinding(f.registered)
	if seen := f.kubeletSeen(); !f.kubelet.isKnown && seen.isKnown && end.isKnown && end.at.Before(seen.at) {
		// The pod was bound before the first proof that the kubelet ran. The machine might still have been booting.
		if span.Candidates = slices.Clone(span.Candidates); !slices.Contains(span.Candidates, PhaseWorkload) {
			span.Candidates = append(span.Candidates, PhaseWorkload)
		}
		end = seen
	}
	f.endPhaseAt(end, span)
}

// kubeletSeen returns the first time at which the kubelet certainly ran. The result is the registration of the node. If
// the registration is unknown, the result is the time when the kubelet acknowledged the first workload pod.
func (f *fold) kubeletSeen() known {
	if f.registered.isKnown || f.first == nil || f.first.timeline == nil {
		return f.registered
	}
	for _, s := range f.first.timeline.Phases {
		if s.Phase == timeline.PhaseKubeletPickup && !s.Open {
			return knownAs(boundaryAt(*f.first.timeline, s.EndAt), sourcePods)
		}
	}
	return known{}
}

// addPhasesUntilReady adds the phases from the registration until the node was ready. The problems that the kubelet
// reported determine these phases. The kubelet reports its problems when it registers the node, and then every 10 s. A
// problem of the network plugin or of the kubelet itself begins with the start of the kubelet. Only a problem of the
// runtime can begin after the registration. addPhasesUntilReady reads the last message before the node was ready. If
// this message reports a problem of the network plugin or of the kubelet, addPhasesUntilReady assumes that the problem
// existed at the registration.
func (f *fold) addPhasesUntilReady() {
	ready, all := f.provenEnd(f.ready)
	if !all {
		defer func() {
			f.endPhaseAt(f.noLaterThanBinding(f.ready), Span{Phase: PhaseUnattributed, Candidates: nodePhases()})
		}()
	}
	unready := f.states
	if r := slices.IndexFunc(f.states, func(s state) bool { return s.ready }); r >= 0 {
		unready = f.states[:r]
	}
	if len(unready) > 0 && !f.isUnchangedSinceRegistration(unready[0]) {
		unready = nil // the node might have been ready before these states, so the messages can report a later problem
	}
	if len(unready) == 0 {
		if f.registered.isKnown {
			f.missing = append(f.missing, "not_ready_reason")
		}
		candidates := reasonUnknown.phases()
		if !f.ready.isKnown {
			candidates = nodePhases()
		}
		f.endPhaseAt(f.noLaterThanBinding(f.ready), Span{Phase: PhaseUnattributed, Candidates: candidates})
		return
	}
	last := unready[len(unready)-1].reasons
	if last != reasonRuntime {
		f.addPhasesUntilSolved(ready, last)
		return
	}
	begin := len(unready) - 1
	for begin > 0 && unready[begin-1].reasons&reasonRuntime != 0 {
		begin--
	}
	if begin > 0 {
		change := f.changeTo(begin)
		change.earliest = change.earliest.Add(-slowLag) // the kubelet can report a problem up to slowLag late
		f.addPhasesUntilSolved(f.noLaterThanBinding(change), unready[begin-1].reasons)
	} else { // the problem can have begun between the registration and the first message
		f.endPhaseAt(f.noLaterThanBinding(knownAs(exactly(unready[0].arrivedAt), sourceNode)), Span{
			Phase: PhaseUnattributed, Candidates: reasonUnknown.phases()})
	}
	f.addPhasesUntilSolved(ready, reasonRuntime)
}

// addPhasesUntilSolved adds the phase of the given problems. The phase ends at the boundary in the argument "end". If
// the problems belong to several phases, the result is one phase, PhaseUnattributed, because no evidence separates
// these phases.
func (f *fold) addPhasesUntilSolved(end known, problems reason) {
	phases := problems.phases()
	if len(phases) > 1 { // a part of the time can belong to the kubelet, which notices late that the problems are over
		problems |= reasonKubelet
		if !f.ready.isKnown { // the kubelet can still report a problem of the runtime
			problems |= reasonRuntime
		}
		phases = problems.phases()
		f.endPhaseAt(end, Span{Phase: PhaseUnattributed, Candidates: phases})
		return
	}
	before, span := len(f.spans), Span{Phase: phases[0]}
	if span.Phase == PhaseNetworkPlugin {
		f.endPhaseAtWithPod(end, span, networkDaemonSets)
	} else {
		f.endPhaseAt(end, span)
	}
	if n := len(f.spans); n > before {
		f.spans[n-1].Error += f.reportLag()
	}
}

// reportLag returns how long the kubelet can still report a problem after the end of the problem. The kubelet checks
// its status every 100 ms only during its first two minutes. If the Node object was created before the boot and still
// reports a ready node, the kubelet does not check every 100 ms, because its function fastStatusUpdateOnce ends
// immediately. So reportLag returns quickLag only if the Node object was created after the boot.
func (f *fold) reportLag() time.Duration {
	start := f.boot.At // the earliest possible time: the kubelet starts after the boot
	if f.kubelet.isKnown {
		start = f.kubelet.earliest
	}
	if f.registered.isKnown && f.createdAfterBoot() && f.ready.isKnown && f.ready.latest.Sub(start) < quickFor {
		return quickLag
	}
	return slowLag
}

// changeTo returns when the Node object changed to the state with the given index.
func (f *fold) changeTo(index int) known {
	arrived, from := f.states[index].arrivedAt, f.boot.At
	for _, s := range f.states[:index] { // at s.sureAt, the Node object was still in the state s
		from = later(from, s.sureAt)
	}
	return knownAs(interval{earlier(from, arrived), arrived, arrived}, sourceNode)
}
