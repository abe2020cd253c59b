package reconcile

import "time"

// progressEvery is how often the progress of one pod is told at most.
const progressEvery = time.Second

func (r *Reconciler) tellChanged(uid string) {
	if r.config.Changed != nil {
		r.config.Changed(uid)
	}
}

// tellProgress tells how far a start-up has come if that is new, and if it will be handed to Settled.
func (r *Reconciler) tellProgress(p *pod) {
	if r.config.Progress == nil || p.evidence == nil || !p.changed || p.reported || p.evidence.Reconstructed() {
		return
	}
	now := r.config.Now()
	if !p.toldAt.IsZero() && now.Sub(p.toldAt) < progressEvery {
		return // the next tick tells
	}
	if t, ok := r.timeline(p, now); ok {
		p.changed, p.toldAt = false, now
		r.config.Progress(t)
	}
}
