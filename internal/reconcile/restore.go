package reconcile

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// Restored is what an agent before this one left: the observations of start-ups that it had not reported,
// those of each pod in the order in which they came, and the UIDs of the pods that it had.
type Restored struct {
	InFlight []timeline.Observation
	Reported []string
	// Ends are observations of pods among those, of how they were about to end.
	Ends []timeline.Observation
	// EventsUntil is when kubelet said what Config.Later got last; zero: only what kubelet says from now on is news.
	EventsUntil time.Time
}

// restore goes on where the agent before ended. Evidence is a join, so what the sources tell again, now
// later and no longer live, takes nothing away from what was seen at the time. What was asked of the
// runtime and which Event watches were open is not known any more: whatever is still wanted is asked for
// anew.
func (r *Reconciler) restore() {
	r.reported = make(map[string]bool, len(r.config.Restored.Reported))
	for _, uid := range r.config.Restored.Reported {
		r.reported[uid] = true
	}
	r.restoreEvents()
	scope := r.config.Scope
	scope.Since = time.Unix(0, 0) // they were the earlier agent's to report, so they are this one's, however old
	scope.ResumedAt = r.config.Now()
	gone := map[string]bool{}
	var events []timeline.EventSeen
	for _, o := range slices.Concat(r.config.Restored.InFlight, r.config.Restored.Ends) {
		r.silences.Observe(o)
		uid := o.PodUID()
		p := r.pods[uid]
		if p == nil {
			if _, seen := o.(timeline.PodSeen); !seen {
				continue
			}
			p = r.meet(uid, scope)
			p.restored = true
		}
		r.clocks.Observe(o)
		if answer, ok := o.(timeline.RuntimeSeen); ok {
			r.pulls.ObserveRuntime(answer)
		}
		p.evidence.Apply(o)
		r.applyToEnding(p, o) // it is kept already
		if event, ok := o.(timeline.EventSeen); ok {
			events = append(events, event)
		}
		if _, ok := o.(timeline.PodGone); ok {
			gone[uid] = true
		}
	}
	r.config.Restored = Restored{} // it may be large
	r.restorePulls(events)
	for uid, p := range r.pods {
		r.advanceEnding(p)
		switch {
		case gone[uid]:
			r.forget(uid, p)
		case !p.evidence.Settled(scope.ResumedAt): // else the first tick settles it: by then the clocks are known
			r.advance(p)
		}
	}
}

// restorePulls remembers what the Events tell of pulls: other pods wait for them, or find what they
// brought. When a pull that failed began, those tell that had ended before, be they of other pods.
func (r *Reconciler) restorePulls(events []timeline.EventSeen) {
	slices.SortStableFunc(events, func(a, b timeline.EventSeen) int { return a.ArrivedAt.Compare(b.ArrivedAt) })
	for _, event := range events {
		r.pulls.Observe(event, r.pods[event.UID].evidence.Pod())
	}
}
