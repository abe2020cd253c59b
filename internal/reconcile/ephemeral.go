package reconcile

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// maxEphemeralPulls is the maximum number of pulls that the agent keeps for one pod's ephemeral containers. A pod that
// users debug typically has one or two pulls for ephemeral containers.
const maxEphemeralPulls = 16

// observeEphemeral follows the pulls of a pod's ephemeral containers, during and after the pod's start-up.
func (r *Reconciler) observeEphemeral(p *pod, o timeline.Observation) {
	seen, ok := o.(timeline.PodSeen)
	if p.ephemeral == nil {
		if ok {
			if p.ephemeral = timeline.NewEphemeralEvidence(r.config.Scope, seen, p.over); p.ephemeral != nil {
				r.clockLog.ApplyTo(p.ephemeral, seen)
				r.followed++
				r.reportChanged(o.PodUID())
			}
		}
	} else {
		news := p.ephemeral.Apply(o)
		if news {
			r.reportChanged(o.PodUID())
		}
		if event, ok := o.(timeline.EventSeen); ok && p.evidence == nil {
			r.pulls.Observe(event, p.ephemeral.Pod())
			if news {
				r.eventsUsed.Add(1)
			}
		}
	}
	r.advanceEphemeral(p)
}

// advanceEphemeral reports the pulls of a pod's ephemeral containers if the agent no longer waits for facts about them
// (timeline.EphemeralEvidence.Settled). If the agent still waits for facts, advanceEphemeral requests them from the
// container runtime and from Events.
func (r *Reconciler) advanceEphemeral(p *pod) {
	if p.ephemeral == nil {
		return
	}
	now := r.config.Now()
	if p.ephemeral.Settled(now) {
		r.endEphemeral(p)
		return
	}
	requests, object := p.ephemeral.Requests(now), p.ephemeral.Pod()
	if requests.Runtime && now.Sub(p.ephemeralQueriedAt) >= repeatQueryFirst {
		p.ephemeralQueriedAt = now
		r.requestRuntime(object, timeline.Requests{Images: requests.Images, Layers: requests.Layers})
	}
	p.ephemeralRequestsEvents = requests.Events
	r.watchEvents(p, object)
}

// endEphemeral reports the pulls of ephemeral containers. If users add another ephemeral container later,
// observeEphemeral creates new evidence for this container.
func (r *Reconciler) endEphemeral(p *pod) {
	if p.ephemeral == nil {
		return
	}
	object := p.ephemeral.Pod()
	pulled := timeline.Timeline{UID: object.UID, Namespace: object.Namespace, Name: object.Name,
		EphemeralPulls: p.ephemeral.Pulls(r.config.Now(), r.clocks.Skew())}
	r.pulls.Complete(&pulled)
	r.pulls.Settle(pulled)
	p.pulled = append(p.pulled, pulled.EphemeralPulls...)
	p.pulled = p.pulled[max(0, len(p.pulled)-maxEphemeralPulls):]
	p.over, p.ephemeral, p.ephemeralRequestsEvents = p.ephemeral.Over(), nil, false
	r.followed--
	r.watchEvents(p, object)
	r.reportChanged(pulled.UID)
	r.config.Report(Report{Kind: EphemeralPulled, Timeline: pulled})
}

// ephemeralPulls returns the latest pulls for ephemeral containers.
func (r *Reconciler) ephemeralPulls(p *pod, now time.Time) []timeline.Pull {
	pulls := slices.Clone(p.pulled)
	if p.ephemeral == nil {
		return pulls
	}
	going := timeline.Timeline{UID: p.ephemeral.Pod().UID, EphemeralPulls: p.ephemeral.Pulls(now, r.clocks.Skew())}
	r.pulls.Complete(&going)
	return append(pulls, going.EphemeralPulls...)
}
