package reconcile

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// maxDebugPulls limits the kept pulls for ephemeral containers of one pod. A pod that is being
// debugged has one or two.
const maxDebugPulls = 16

// observeDebug follows the pulls of a pod's ephemeral containers, during and after its start-up.
func (r *Reconciler) observeDebug(p *pod, o timeline.Observation) {
	seen, ok := o.(timeline.PodSeen)
	if p.debug == nil {
		if ok {
			if p.debug = timeline.NewEphemeralEvidence(r.config.Scope, seen, p.over); p.debug != nil {
				r.followed++
				r.reportChanged(o.PodUID())
			}
		}
	} else {
		news := p.debug.Apply(o)
		if news {
			r.reportChanged(o.PodUID())
		}
		if event, ok := o.(timeline.EventSeen); ok && p.evidence == nil {
			r.pulls.Observe(event, p.debug.Pod())
			if news {
				r.eventsUsed.Add(1)
			}
		}
	}
	r.advanceDebug(p)
}

// advanceDebug passes the wants to the sources, and reports the pulls when everything about them is
// known.
func (r *Reconciler) advanceDebug(p *pod) {
	if p.debug == nil {
		return
	}
	now := r.config.Now()
	if p.debug.Settled(now) {
		r.endDebug(p)
		return
	}
	wants, object := p.debug.Requests(now), p.debug.Pod()
	if wants.Runtime && now.Sub(p.debugAskedAt) >= askAgainFirst {
		p.debugAskedAt = now
		r.config.AskRuntime(timeline.LookUp{UID: object.UID, RuntimeUID: object.RuntimeUID, Images: wants.Images,
			Layers: wants.Layers})
	}
	p.debugRequestsEvents = wants.Events
	r.watchEvents(p, object)
}

// endDebug reports the pulls of ephemeral containers. Later ones are followed anew.
func (r *Reconciler) endDebug(p *pod) {
	if p.debug == nil {
		return
	}
	object := p.debug.Pod()
	told := timeline.Timeline{UID: object.UID, Namespace: object.Namespace, Name: object.Name,
		EphemeralPulls: p.debug.Pulls(r.config.Now(), r.clocks.Skew())}
	r.pulls.Complete(&told)
	r.pulls.Settle(told)
	p.pulled = append(p.pulled, told.EphemeralPulls...)
	p.pulled = p.pulled[max(0, len(p.pulled)-maxDebugPulls):]
	p.over, p.debug, p.debugRequestsEvents = p.debug.Over(), nil, false
	r.followed--
	r.watchEvents(p, object)
	r.reportChanged(told.UID)
	if r.config.Debugged != nil {
		r.config.Debugged(told)
	}
}

// debugPulls returns the latest pulls for ephemeral containers.
func (r *Reconciler) debugPulls(p *pod, now time.Time) []timeline.Pull {
	pulls := slices.Clone(p.pulled)
	if p.debug == nil {
		return pulls
	}
	going := timeline.Timeline{UID: p.debug.Pod().UID, EphemeralPulls: p.debug.Pulls(now, r.clocks.Skew())}
	r.pulls.Complete(&going)
	return append(pulls, going.EphemeralPulls...)
}
