package reconcile

import "time"

// progressEvery is the shortest time between two progress reports of one pod.
const progressEvery = time.Second

func (r *Reconciler) reportChanged(uid string) {
	if r.config.Changed != nil {
		r.config.Changed(uid)
	}
}

// reportProgress reports the progress of a start-up if it is new, and if the start-up will be passed
// to Settled.
func (r *Reconciler) reportProgress(p *pod) {
	if r.config.Progress == nil || p.evidence == nil || !p.changed || p.reported || p.evidence.Reconstructed() {
		return
	}
	now := r.config.Now()
	if !p.toldAt.IsZero() && now.Sub(p.toldAt) < progressEvery {
		return // the next tick reports it
	}
	if t, ok := r.timeline(p, now); ok {
		p.changed, p.toldAt = false, now
		r.config.Progress(t)
	}
}
