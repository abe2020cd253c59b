package nodestart

import (
	"cmp"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// candidate is a pod that can be the first workload pod.
type candidate struct {
	timeline *timeline.Timeline // the pod's first start-up; nil for a pod that was bound before the boot
	again    *PodReady          // set only for a pod that was bound before the boot and is ready again
	bound    known              // unknown for a pod that was bound before the boot
	ready    known
}

func (c candidate) isReady() bool { return c.ready.isKnown }

func (c candidate) name() string {
	if c.again != nil {
		return c.again.Namespace + "/" + c.again.Name
	}
	return c.timeline.Namespace + "/" + c.timeline.Name
}

// isWorkload reports whether a pod is a workload pod: neither a pod of a DaemonSet nor a static pod.
func isWorkload(t timeline.Timeline) bool {
	return t.Owner.Kind != "DaemonSet" && t.Owner.Kind != "Node" && t.ReadAt.IsZero()
}

// firstWorkload returns the workload pod that was ready first. If no workload pod is ready, firstWorkload returns the
// starting workload pod that was bound first. If no workload pod is ready, and no starting workload pod is bound, the
// result is nil.
func (f *fold) firstWorkload() *candidate {
	var ready, starting []candidate
	for _, t := range f.startUps {
		if !isWorkload(t) {
			continue
		}
		c := candidate{timeline: &t}
		bound := reachedNodeAt(t)
		if !bound.IsZero() {
			c.bound = knownAs(boundaryAt(t, bound), sourcePods)
		}
		switch {
		case t.State == timeline.StateReady && !t.SettledAt.Before(f.boot.At):
			c.ready = knownAs(podReady(t).notBefore(f.boot.At), sourcePods)
			if c.bound.isKnown && bound.Before(f.boot.At) {
				// The pod was bound to the node before the boot, so taints and the scheduler did not delay it.
				c = candidate{ready: c.ready, again: &PodReady{UID: t.UID, Namespace: t.Namespace, Name: t.Name,
					CreatedAt: t.CreatedAt}}
			}
			ready = append(ready, c)
		case t.State == timeline.StateStarting && c.bound.isKnown && !bound.Before(f.boot.At):
			starting = append(starting, c)
		}
	}
	for _, p := range f.readyAgain {
		if p.ReadyAt.Before(f.boot.At) || f.boundSinceBoot(p.UID) {
			continue
		}
		i := truncated(p.ReadyAt, second)
		if p.Turned && !p.ArrivedAt.Before(i.earliest) {
			i.at = p.ArrivedAt
		}
		i = i.withEstimateInside().notAfter(p.ArrivedAt)
		if !p.Turned {
			i.earliest = f.boot.At
		}
		ready = append(ready, candidate{again: &p, ready: knownAs(i, sourcePods)})
	}
	if len(ready) > 0 {
		return earliestReady(ready)
	}
	if len(starting) == 0 {
		return nil
	}
	first := slices.MinFunc(starting, func(a, b candidate) int {
		return cmp.Or(a.bound.at.Compare(b.bound.at), cmp.Compare(a.name(), b.name()))
	})
	return &first
}

// podReady returns the time when a pod became ready. podReady uses only the evidence of the milestone "ready". Another
// milestone, for example the success of the readiness probe, can have the same estimate but a longer interval.
func podReady(t timeline.Timeline) interval {
	for _, m := range t.Milestones {
		if m.Milestone == timeline.MilestoneReady && m.At.Equal(t.SettledAt) && !m.Earliest.IsZero() &&
			!m.Latest.IsZero() {
			return interval{m.Earliest, m.Latest, m.At}
		}
	}
	return boundaryAt(t, t.SettledAt)
}

// boundSinceBoot reports whether the pod was bound to the node after the boot. If the result is true, firstWorkload
// uses the pod's timeline and ignores the observation PodReady. The timeline contains more facts than PodReady.
func (f *fold) boundSinceBoot(uid string) bool {
	t, known := f.startUps[uid]
	return known && !reachedNodeAt(t).IsZero() && !reachedNodeAt(t).Before(f.boot.At)
}

// reachedNodeAt returns the time when a scheduler bound the pod to the node. If the pod's creator set the node, the
// result is the time when the kubelet picked up the pod. The result is zero if the time is unknown.
func reachedNodeAt(t timeline.Timeline) time.Time {
	if !t.ScheduledAt.IsZero() {
		return t.ScheduledAt
	}
	for _, m := range t.Milestones {
		if m.Milestone == timeline.MilestoneAcknowledged {
			return m.At
		}
	}
	return time.Time{}
}

// earliestReady returns the pod that was ready first according to the estimates. The interval of the result contains
// the time at which the first pod was ready, even if the estimates show the wrong order.
func earliestReady(ready []candidate) *candidate {
	first := slices.MinFunc(ready, func(a, b candidate) int {
		return cmp.Or(a.ready.at.Compare(b.ready.at), cmp.Compare(a.name(), b.name()))
	})
	for _, c := range ready {
		first.ready.interval = earlierOf(first.ready.interval, c.ready.interval)
	}
	return &first
}

// addPhasesUntilWorkload adds the phases after the node became schedulable, until the first workload pod is ready.
func (f *fold) addPhasesUntilWorkload() {
	candidates := []Phase{PhaseTaint, PhaseAwaitingPod, PhaseWorkload}
	if f.first == nil {
		span := Span{Phase: PhaseAwaitingPod}
		if f.hasUnknownTaints() {
			span = Span{Phase: PhaseUnattributed, Candidates: candidates[:2]}
		}
		f.endPhaseAt(known{interval: f.end, isKnown: !f.open}, span)
		return
	}
	t := *f.first.timeline
	if sure, ok := f.takesPodsUntil(); ok {
		created := knownAs(earlierOf(boundaryAt(t, t.CreatedAt), sure), sourcePods)
		f.endPhaseAt(f.noLaterThanBinding(created), Span{Phase: PhaseAwaitingPod})
		f.addPodPhases(t, f.noLaterThanBinding(knownAs(sure, sourceNode)), Span{Phase: PhaseWorkload}, nil)
		f.endPhaseAt(f.first.bound, Span{Phase: PhaseUnattributed, Candidates: candidates})
	}
	f.endPhaseAt(f.noLaterThanBinding(knownAs(boundaryAt(t, t.CreatedAt), sourcePods)), Span{Phase: PhaseAwaitingPod})
	f.addPodPhases(t, knownAs(f.end, sourcePods), Span{Phase: PhaseWorkload}, nil)
	f.endPhaseAt(f.first.ready, Span{Phase: PhaseUnattributed, Candidates: []Phase{PhaseWorkload}})
}

// hasUnknownTaints reports whether the latest known version of the Node object has taints that might be start-up
// taints. While an unknown taint exists, the agent does not know whether it is a start-up taint: see taintRowOf.
func (f *fold) hasUnknownTaints() bool {
	return len(f.states) > 0 && slices.ContainsFunc(f.states[len(f.states)-1].taints, func(t Taint) bool {
		_, known := taintRowOf(t.Key)
		return !known
	})
}

// takesPodsUntil returns the latest time at which the node certainly had no start-up taint that kept pods away. After
// the returned time, a start-up taint might have kept the first workload pod from the node. The second result is false
// if the binding of the first workload pod is unknown, or if no state of the node is known. The second result is also
// false if the node's latest known state lasted until the binding or longer, because the taints of this state did not
// prevent the binding.
func (f *fold) takesPodsUntil() (interval, bool) {
	if !f.first.bound.isKnown || len(f.states) == 0 {
		return interval{}, false
	}
	last := f.states[len(f.states)-1]
	sure := later(last.sureAt, last.arrivedAt)
	if !sure.Before(f.first.bound.latest) {
		return interval{}, false
	}
	if f.hasUnknownTaints() {
		return f.cursor, true
	}
	return exactly(sure), true
}

// addPodPhases adds the phases of a pod until the given boundary. If the argument "running" is not nil, addPodPhases
// adds this span instead of the phases in which the pod's containers run but are not ready yet. While the containers
// run, the node waits for the component in the pod, for example the network plugin. So this time belongs to the
// component, and not to the start-up of its pod.
func (f *fold) addPodPhases(t timeline.Timeline, end known, as Span, running *Span) {
	as.Pod = t.Namespace + "/" + t.Name
	inside := false // true if f.cursor is the end of the pod's previous phase
	for _, s := range t.Phases {
		to := boundaryAt(t, s.EndAt)
		if s.Open {
			to = exactly(f.now)
		}
		if !to.at.After(f.cursor.at) { // the phase was over before the node waited for this pod
			inside = to.at.Equal(f.cursor.at) && inside
			f.cursor = laterOf(f.cursor, earlierOf(to, end.interval))
			continue
		}
		if !f.cursor.at.Before(end.at) {
			return
		}
		most := time.Duration(-1)
		if inside && !to.latest.After(end.earliest) && f.cursor.at.Equal(s.StartAt) {
			most = s.Error
		}
		span := as
		span.Step, span.Cause = s.Phase, s.Cause
		if running != nil && isProbe(s.Phase) {
			span = *running
		}
		inside = !to.latest.After(end.earliest)
		f.endPhaseWithin(knownAs(earlierOf(to, end.interval), sourcePods), span, most)
	}
}

func isProbe(p timeline.Phase) bool {
	return p.IsFinalWait() && timeline.CauseOf(p) != timeline.CauseKubelet
}

// endPhaseAtWithPod adds the given phase as endPhaseAt does. If the named DaemonSets have only one pod on this node,
// endPhaseAtWithPod divides the time of this pod's start-up into the pod's own phases, instead of the given phase. If
// the named DaemonSets have several pods on this node, no evidence shows which of these pods the node waited for. Then
// endPhaseAtWithPod adds only the given phase. If the pods belong to
// two DaemonSets that install one network together, the phase "network_plugin" names both DaemonSets: see
// networkPairOf.
func (f *fold) endPhaseAtWithPod(end known, span Span, names []string) {
	pods := f.daemonSetPods(names)
	if len(pods) != 1 {
		if span.Phase == PhaseNetworkPlugin {
			span.Owner = networkPairOf(pods)
		}
		f.endPhaseAt(end, span)
		return
	}
	pod := pods[0]
	limit := end
	if !limit.isKnown {
		limit = knownAs(exactly(f.now))
	}
	created := boundaryAt(pod, pod.CreatedAt)
	if !created.at.Before(limit.at) {
		f.endPhaseAt(end, span)
		return
	}
	if !created.at.After(f.cursor.at) {
		f.cursor = laterOf(f.cursor, earlierOf(created, limit.interval))
	} else {
		f.endPhaseAt(knownAs(earlierOf(created, limit.interval), sourcePods), span)
	}
	f.addPodPhases(pod, limit, Span{Phase: PhaseDaemonSet, Taint: span.Taint, Owner: span.Owner}, &span)
	if f.cursor.at.Before(limit.at) {
		f.endPhaseAt(end, span)
	} else {
		f.cursor = laterOf(f.cursor, earlierOf(limit.interval, f.end))
	}
}

// daemonSetPods returns the pods that were created after the boot and belong to a DaemonSet with one of the names.
func (f *fold) daemonSetPods(names []string) []timeline.Timeline {
	var pods []timeline.Timeline
	for _, t := range f.startUps {
		if t.Owner.Kind == "DaemonSet" && slices.Contains(names, t.Owner.Name) && !t.CreatedAt.Before(f.boot.At) {
			pods = append(pods, t)
		}
	}
	return pods
}

// children lists the start-ups of the DaemonSet pods that were created after the boot.
func (f *fold) children() []api.DaemonSetPodRecord {
	var all []api.DaemonSetPodRecord
	for _, t := range f.startUps {
		if t.Owner.Kind != "DaemonSet" || t.CreatedAt.Before(f.boot.At) {
			continue
		}
		all = append(all, api.DaemonSetPodRecord{
			Namespace: t.Namespace, Name: t.Name, UID: t.UID, DaemonSet: t.Owner.Name, State: t.State,
			CreatedAt: api.InstantOf(t.CreatedAt), SettledAt: api.InstantOf(t.SettledAt),
			Total: api.Seconds(t.Total), TotalError: api.Seconds(t.TotalError), Verdict: t.Verdict(),
			Critical: slices.ContainsFunc(f.spans, func(s Span) bool {
				return s.Phase == PhaseDaemonSet && s.Pod == t.Namespace+"/"+t.Name
			}),
		})
	}
	slices.SortFunc(all, func(a, b api.DaemonSetPodRecord) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt.Time), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Name, b.Name))
	})
	return all
}

func (f *fold) workload() *Workload {
	switch {
	case f.first == nil:
		return nil
	case f.first.again != nil:
		p := f.first.again
		return &Workload{Namespace: p.Namespace, Name: p.Name, UID: p.UID, CreatedAt: p.CreatedAt, Again: true,
			ReadyAt: f.first.ready.at}
	}
	t := f.first.timeline
	w := &Workload{Namespace: t.Namespace, Name: t.Name, UID: t.UID, CreatedAt: t.CreatedAt, BoundAt: t.ScheduledAt,
		ReadyAt: f.first.ready.at}
	for _, s := range t.Phases {
		if mayBe(s.Phase, s.MergedWith, timeline.PhaseSchedulingGate) {
			w.UngatedBy = s.EndAt
		}
	}
	return w
}
