package reconcile

import (
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// progressEvery is the minimum time between two progress reports of one pod.
const progressEvery = time.Second

func (r *Reconciler) reportChanged(uid string) {
	r.config.Report(Report{Kind: Changed, Timeline: timeline.Timeline{UID: uid}})
}

// If a start-up in progress has changed, reportProgress sends a Partial report. If the start-up will have no Settled
// report, reportProgress does nothing.
func (r *Reconciler) reportProgress(p *pod) {
	if !r.config.Optional.Partial || p.evidence == nil || !p.changed || p.reported || p.evidence.Reconstructed() {
		return
	}
	now := r.config.Now()
	if !p.partialAt.IsZero() && now.Sub(p.partialAt) < progressEvery {
		return // a later tick reports the change
	}
	if t, ok := r.timeline(p, now); ok {
		p.changed, p.partialAt = false, now
		r.config.Report(Report{Kind: Partial, Timeline: t})
	}
}
