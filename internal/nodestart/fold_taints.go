package nodestart

import (
	"slices"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// heldTaint is a taint that kept workloads from the node for some time.
type heldTaint struct {
	Taint
	row     taintRow
	known   bool  // true if the taint is certainly a start-up taint: see taintRowOf
	since   int   // index of the first state with the taint
	removed known // removal of the taint; unknown while the taint exists
}

// heldTaints returns the start-up taints that the agent saw. If taintRowOf shows that a taint is certainly a start-up
// taint, heldTaints includes it at once. Any other taint counts as a start-up taint only after its removal. Before its
// removal, such a taint might have another purpose, for example to cordon the node or to reserve the node for special
// workloads.
func (f *fold) heldTaints() []heldTaint {
	var held []heldTaint
	for i, s := range f.states {
		for n, t := range s.taints {
			if i > 0 && f.states[i-1].hasTaint(t.Key) || (state{taints: s.taints[:n]}).hasTaint(t.Key) {
				continue // the previous state, or an earlier taint of this state, has the same key
			}
			h := heldTaint{Taint: t, since: i}
			h.row, h.known = taintRowOf(t.Key)
			for j := i + 1; j < len(f.states) && !h.removed.isKnown; j++ {
				if !f.states[j].hasTaint(t.Key) {
					h.removed = f.changeTo(j)
				}
			}
			if h.known || h.removed.isKnown {
				held = append(held, h)
			}
		}
	}
	return held
}

// removedAt returns the time when the taint was removed. If the taint still exists, removedAt returns f.now.
func (h heldTaint) removedAt(f *fold) interval {
	if h.removed.isKnown {
		return h.removed.interval
	}
	return exactly(f.now)
}

// addedAt returns the time from which the taint existed. According to taintTable, some taints cannot return after their
// removal. If the first known state has one of these taints, addedAt returns the registration of the node, because no
// component adds this taint later.
func (h heldTaint) addedAt(f *fold) interval {
	switch {
	case h.since > 0:
		return f.changeTo(h.since).interval
	case h.known && !h.row.recurs && f.registered.isKnown:
		return f.registered.interval
	}
	return exactly(f.states[0].arrivedAt)
}

// addPhasesUntilSchedulable adds the phases after the node was ready, until no start-up taint kept workloads away. If
// several taints exist at the same time, the phase belongs to the taint that is removed last, because the node waits
// for this removal during the whole phase.
func (f *fold) addPhasesUntilSchedulable() {
	if !f.noLaterThanBinding(f.ready).isKnown {
		return // earlier phases already cover the time until now
	}
	candidates := []Phase{PhaseTaint, PhaseAwaitingPod, PhaseWorkload}
	seen := f.taintsKnown()
	if seen.isKnown {
		before := len(f.spans)
		f.endPhaseAt(f.noLaterThanBinding(seen), Span{Phase: PhaseUnattributed, Candidates: candidates})
		if len(f.spans) > before {
			f.missing = append(f.missing, "taints")
		}
	}
	held := slices.DeleteFunc(f.heldTaints(), func(h heldTaint) bool { return f.firstPodTolerated(h) == certainly })
	slices.SortStableFunc(held, func(a, b heldTaint) int { return a.removedAt(f).at.Compare(b.removedAt(f).at) })
	for i, h := range held {
		covers := func(o heldTaint) bool { return !o.addedAt(f).at.After(f.cursor.at) }
		if slices.ContainsFunc(held[i+1:], covers) {
			continue
		}
		end := earlierOf(f.noLaterThanBinding(knownAs(h.removedAt(f))).interval, f.end)
		if !end.at.After(f.cursor.at) {
			f.cursor = laterOf(f.cursor, end)
			continue
		}
		if !covers(h) { // no taint is known for the time before this taint was added
			f.endPhaseAt(f.noLaterThanBinding(knownAs(h.addedAt(f), sourceNode)), Span{
				Phase: PhaseUnattributed, Candidates: candidates})
		}
		if f.firstPodTolerated(h) == possibly {
			f.endPhaseAt(f.noLaterThanBinding(h.removed), Span{Phase: PhaseUnattributed, Candidates: candidates})
			continue
		}
		gone, all := f.provenEnd(h.removed)
		f.endPhaseAtWithPod(gone, Span{Phase: PhaseTaint, Taint: h.Key, Owner: h.row.owner}, h.row.daemonSets)
		if !all {
			f.endPhaseAt(f.noLaterThanBinding(h.removed), Span{Phase: PhaseUnattributed, Candidates: candidates})
		}
	}
}

// certainty is the answer to a yes-or-no question: no, possibly or certainly.
type certainty uint8

const (
	no certainty = iota
	possibly
	certainly
)

// firstPodTolerated reports whether the first workload pod was bound although the taint existed. If it is uncertain
// whether the pod was bound before the removal of the taint, a phase "unschedulable" of the pod proves that the pod did
// not tolerate the taint.
func (f *fold) firstPodTolerated(h heldTaint) certainty {
	if f.first == nil || f.first.timeline == nil || !f.first.bound.isKnown {
		return no
	}
	bound := f.first.bound
	if !h.removed.isKnown {
		last := f.states[len(f.states)-1]
		if sure := later(last.sureAt, last.arrivedAt); !sure.Before(bound.latest) {
			return certainly
		}
	} else {
		switch {
		case !h.removed.latest.After(bound.earliest):
			return no
		case h.removed.earliest.After(bound.latest):
			return certainly
		}
	}
	if slices.ContainsFunc(f.first.timeline.Phases, func(s timeline.Span) bool {
		return s.Phase == timeline.PhaseUnschedulable && s.Duration() > 0
	}) {
		return no
	}
	return possibly
}

// taintsKnown returns the time from which the agent knew the taints. The result is empty if no state of the node is
// known, or if the agent already knew the taints when the node became ready. The result is also empty if the first
// known state has a taint that has kept workloads away since the registration.
func (f *fold) taintsKnown() known {
	for i, s := range f.states {
		if s.gap {
			return knownAs(exactly(f.states[i].arrivedAt), sourceNode)
		}
	}
	if len(f.states) == 0 || !f.states[0].arrivedAt.After(f.cursor.at) {
		return known{}
	}
	for _, h := range f.heldTaints() {
		if h.since == 0 && h.known && !h.row.recurs && f.firstPodTolerated(h) == no {
			return known{}
		}
	}
	return knownAs(exactly(f.states[0].arrivedAt), sourceNode)
}

// taintsSeen lists the start-up taints in the order of their removal. Taints that still exist are last.
func (f *fold) taintsSeen() []api.TaintRecord {
	held := f.heldTaints()
	slices.SortStableFunc(held, func(a, b heldTaint) int {
		if a.removed.isKnown != b.removed.isKnown {
			if a.removed.isKnown {
				return -1
			}
			return 1
		}
		return a.removed.at.Compare(b.removed.at)
	})
	var all []api.TaintRecord
	for _, h := range held {
		seen := api.TaintRecord{Key: h.Key, Effect: h.Effect, Owner: h.row.owner, Present: !h.removed.isKnown}
		if h.removed.isKnown {
			seen.RemovedAt = api.InstantOf(h.removed.at)
			seen.Earliest, seen.Latest = api.InstantOf(h.removed.earliest), api.InstantOf(h.removed.latest)
		}
		all = append(all, seen)
	}
	return all
}
