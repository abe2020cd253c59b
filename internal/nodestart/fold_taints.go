package nodestart

import (
	"slices"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// heldTaint is a taint that kept workloads from the node for some time.
type heldTaint struct {
	Taint
	row   taintRow
	known bool  // the taint is in taintTable
	since int   // index of the first state with the taint
	gone  known // removal of the taint; unknown while the taint exists
}

// heldTaints returns the start-up taints that the agent saw: the taints in taintTable, and other taints that were
// removed. A taint that stays and is not in taintTable is not a start-up taint: for example, a taint that reserves the
// node for special workloads.
func (f *fold) heldTaints() []heldTaint {
	var held []heldTaint
	for i, s := range f.states {
		for n, t := range s.taints {
			if i > 0 && f.states[i-1].has(t.Key) || (state{taints: s.taints[:n]}).has(t.Key) {
				continue // an earlier state, or an earlier taint of this state, has the same key
			}
			h := heldTaint{Taint: t, since: i}
			h.row, h.known = taintRowOf(t.Key)
			for j := i + 1; j < len(f.states) && !h.gone.is; j++ {
				if !f.states[j].has(t.Key) {
					h.gone = f.changeTo(j)
				}
			}
			if h.known || h.gone.is {
				held = append(held, h)
			}
		}
	}
	return held
}

// end returns the time when the taint was removed. If the taint still exists, end returns f.now.
func (h heldTaint) end(f *fold) interval {
	if h.gone.is {
		return h.gone.interval
	}
	return exactly(f.now)
}

// begin returns the time from which the taint existed. For a taint of taintTable that cannot return, begin returns the
// registration of the node, because no component adds such a taint later.
func (h heldTaint) begin(f *fold) interval {
	switch {
	case h.since > 0:
		return f.changeTo(h.since).interval
	case h.known && !h.row.recurs && f.registered.is:
		return f.registered.interval
	}
	return exactly(f.states[0].arrivedAt)
}

// untilSchedulable appends the phases from the time when the node was ready until no start-up taint kept workloads
// away. If several taints exist at the same time, the phase belongs to the taint that is removed last, because the node
// waits for the removal of this taint during the whole phase.
func (f *fold) untilSchedulable() {
	if !f.orBound(f.ready).is {
		return // earlier phases already cover the time until now
	}
	candidates := []Phase{PhaseTaint, PhaseAwaitingPod, PhaseWorkload}
	seen := f.taintsKnown()
	if seen.is {
		before := len(f.spans)
		f.until(f.orBound(seen), Span{Phase: PhaseUnattributed, Candidates: candidates})
		if len(f.spans) > before {
			f.missing = append(f.missing, "taints")
		}
	}
	held := slices.DeleteFunc(f.heldTaints(), func(h heldTaint) bool { return f.tolerated(h) == certainly })
	slices.SortStableFunc(held, func(a, b heldTaint) int { return a.end(f).at.Compare(b.end(f).at) })
	for i, h := range held {
		covers := func(o heldTaint) bool { return !o.begin(f).at.After(f.cursor.at) }
		if slices.ContainsFunc(held[i+1:], covers) {
			continue
		}
		end := earlierOf(f.orBound(knownAs(h.end(f))).interval, f.end)
		if !end.at.After(f.cursor.at) {
			f.cursor = laterOf(f.cursor, end)
			continue
		}
		if !covers(h) { // no known taint covers the time until this taint was added
			f.until(f.orBound(knownAs(h.begin(f), sourceNode)), Span{
				Phase: PhaseUnattributed, Candidates: candidates})
		}
		if f.tolerated(h) == possibly {
			f.until(f.orBound(h.gone), Span{Phase: PhaseUnattributed, Candidates: candidates})
			continue
		}
		gone, all := f.assured(h.gone)
		f.untilThrough(gone, Span{Phase: PhaseTaint, Taint: h.Key, Owner: h.row.owner}, h.row.daemonSets)
		if !all {
			f.until(f.orBound(h.gone), Span{Phase: PhaseUnattributed, Candidates: candidates})
		}
	}
}

// response is the answer to a yes-or-no question: no, possibly or certainly.
type response uint8

const (
	no response = iota
	possibly
	certainly
)

// tolerated reports whether the first workload pod was bound although the taint existed. If it is uncertain whether the
// pod was bound before the taint was removed, a phase "unschedulable" of the pod proves that the pod did not tolerate
// the taint.
func (f *fold) tolerated(h heldTaint) response {
	if f.first == nil || f.first.timeline == nil || !f.first.bound.is {
		return no
	}
	bound := f.first.bound
	if !h.gone.is {
		last := f.states[len(f.states)-1]
		if sure := later(last.sureAt, last.arrivedAt); !sure.Before(bound.latest) {
			return certainly
		}
	} else {
		switch {
		case !h.gone.latest.After(bound.earliest):
			return no
		case h.gone.earliest.After(bound.latest):
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
		if h.since == 0 && h.known && !h.row.recurs && f.tolerated(h) == no {
			return known{}
		}
	}
	return knownAs(exactly(f.states[0].arrivedAt), sourceNode)
}

// taintsSeen lists the start-up taints in the order of their removal. Taints that still exist are last.
func (f *fold) taintsSeen() []TaintSeen {
	held := f.heldTaints()
	slices.SortStableFunc(held, func(a, b heldTaint) int {
		if a.gone.is != b.gone.is {
			if a.gone.is {
				return -1
			}
			return 1
		}
		return a.gone.at.Compare(b.gone.at)
	})
	var all []TaintSeen
	for _, h := range held {
		seen := TaintSeen{Key: h.Key, Effect: h.Effect, Owner: h.row.owner, Present: !h.gone.is}
		if h.gone.is {
			seen.RemovedAt, seen.Earliest, seen.Latest = h.gone.at, h.gone.earliest, h.gone.latest
		}
		all = append(all, seen)
	}
	return all
}
