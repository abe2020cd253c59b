package reconcile

import "github.com/podlapse/podlapse/pkg/timeline"

// observeClockSet passes a change of the node's clock to the evidence of all pods. observeClockSet ignores other
// observations.
func (r *Reconciler) observeClockSet(o timeline.Observation) {
	set, ok := o.(timeline.ClockSet)
	if !ok || !r.clockLog.Observe(set) {
		return
	}
	r.pulls.ObserveClockSet(set)
	for uid, p := range r.pods {
		if p.evidence != nil {
			p.changed = p.evidence.Apply(o) || p.changed
		}
		if p.ephemeral != nil {
			p.ephemeral.Apply(o)
		}
		if p.terminating != nil {
			p.terminating.evidence.Apply(o)
		}
		if p.evidence != nil || p.ephemeral != nil || p.terminating != nil {
			r.reportChanged(uid)
		}
	}
}
