package reconcile

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// Restored is the state that a previous agent left: the observations of unreported start-ups, those of each pod in the
// order of arrival, and the UIDs of its pods.
type Restored struct {
	InFlight []timeline.Observation
	Reported []string
	// Ends are observations of reported pods that were being deleted.
	Ends []timeline.Observation
	// EventsUntil is the time of the latest kubelet Event that Config.PostStartup got. If it is zero, only Events from
	// now on are reported.
	EventsUntil time.Time
}

// restore continues where the previous agent ended. Evidence is a join, so observations that the sources repeat now,
// later and no longer live, do not make it less precise. Open questions to the runtime and open Event watches are
// unknown: whatever is still wanted is requested again.
func (r *Reconciler) restore() {
	r.reported = make(map[string]bool, len(r.config.Restored.Reported))
	for _, uid := range r.config.Restored.Reported {
		r.reported[uid] = true
	}
	r.restoreEvents()
	scope := r.config.Scope
	scope.Since = time.Unix(0, 0) // the previous agent had to report them, so this agent must, however old they are
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
		r.applyToTermination(p, o) // it is kept already
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
		r.advanceTermination(p)
		switch {
		case gone[uid]:
			r.forget(uid, p)
		case !p.evidence.Settled(scope.ResumedAt): // otherwise the first tick settles it: by then the clocks are known
			r.advance(p)
		}
	}
}

// restorePulls remembers the pulls in the Events, because other pods may wait for them or find their content. Pulls
// that ended before, also of other pods, show when a failed pull began.
func (r *Reconciler) restorePulls(events []timeline.EventSeen) {
	slices.SortStableFunc(events, func(a, b timeline.EventSeen) int { return a.ArrivedAt.Compare(b.ArrivedAt) })
	for _, event := range events {
		r.pulls.Observe(event, r.pods[event.UID].evidence.Pod())
	}
}
