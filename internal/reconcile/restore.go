package reconcile

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// Restored is the state that a previous agent saved. InFlight holds the observations of unreported start-ups, in
// the order of arrival for each pod. Reported holds the UIDs of reported pods.
type Restored struct {
	InFlight []timeline.Observation
	Reported []string
	// Terminations holds observations of pods that were being deleted, and whose start-ups were already reported.
	Terminations []timeline.Observation
	// EventsUntil is the time of the latest kubelet Event in a PostStartup report. If EventsUntil is zero, the agent
	// reports only Events that are later than the agent's own start.
	EventsUntil time.Time
}

// restore continues the previous agent's work. If a source delivers a saved observation again, the evidence does not
// change. The saved state does not contain the previous agent's open queries and Event watches. So restore requests all
// missing evidence again.
func (r *Reconciler) restore() {
	r.reported = make(map[string]bool, len(r.config.Restored.Reported))
	for _, uid := range r.config.Restored.Reported {
		r.reported[uid] = true
	}
	r.restoreEvents()
	scope := r.config.Scope
	// With this value, the agent reports a saved start-up of any age, because the previous agent did not report it.
	scope.Since = time.Unix(0, 0)
	scope.ResumedAt = r.config.Now()
	r.pulls.MissesPullsBefore(scope.ResumedAt) // the saved state lacks the pulls of pods that are already reported
	gone := map[string]bool{}
	var events []timeline.EventSeen
	for _, o := range slices.Concat(r.config.Restored.InFlight, r.config.Restored.Terminations) {
		r.silences.Observe(o)
		uid := o.PodUID()
		p := r.pods[uid]
		if p == nil {
			if _, seen := o.(timeline.PodSeen); !seen {
				continue
			}
			p = r.addPod(uid, scope)
			p.restored = true
		}
		r.clocks.Observe(o)
		if response, ok := o.(timeline.RuntimeSeen); ok {
			r.pulls.ObserveRuntime(response)
		}
		p.evidence.Apply(o)
		r.applyToTermination(p, o) // does not save the observation, because the state file contains it
		if event, ok := o.(timeline.EventSeen); ok {
			events = append(events, event)
		}
		if _, ok := o.(timeline.PodGone); ok {
			gone[uid] = true
		}
	}
	for _, o := range r.config.Restored.InFlight {
		r.observeClockSet(o) // last, because a change of the clock can be later than all other observations
	}
	r.config.Restored = Restored{} // release the memory, because the state can be large
	r.restorePulls(events)
	for uid, p := range r.pods {
		r.advanceTermination(p)
		switch {
		case gone[uid]:
			r.forget(uid, p)
		// If the evidence is already settled, a later tick settles the start-up. By then, the agent knows the clock
		// skew.
		case !p.evidence.Settled(scope.ResumedAt):
			r.advance(p)
		}
	}
}

// restorePulls adds the pulls in saved Events to the pull log. Other pods might wait for these pulls or use the content
// that these pulls downloaded. If a pull failed, its estimated start also depends on earlier pulls in the log,
// including pulls of other pods.
func (r *Reconciler) restorePulls(events []timeline.EventSeen) {
	slices.SortStableFunc(events, func(a, b timeline.EventSeen) int { return a.ArrivedAt.Compare(b.ArrivedAt) })
	for _, event := range events {
		r.pulls.Observe(event, r.pods[event.UID].evidence.Pod())
	}
}
