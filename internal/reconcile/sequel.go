package reconcile

import (
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// laterWindow is how old an Event may be to be reported as news: an older one is not news, however
// long no agent ran.
const laterWindow = 5 * time.Minute

// restoreEvents sets the time from which Events are news.
func (r *Reconciler) restoreEvents() {
	now := r.config.Now()
	r.eventsUntil = now
	if until := r.config.Restored.EventsUntil; !until.IsZero() && until.Before(now) {
		r.eventsUntil = until
		if oldest := now.Add(-laterWindow); until.Before(oldest) {
			r.eventsUntil = oldest
		}
	}
}

// beginSequel starts to follow a pod after its start-up.
func (r *Reconciler) beginSequel(p *pod, object timeline.Pod) {
	if r.config.Later != nil {
		p.sequel = timeline.NewSequel(object)
	}
}

func (r *Reconciler) endSequel(p *pod) {
	if p.sequel != nil {
		p.sequel = nil
		r.watchEvents(p, timeline.Pod{UID: p.settled.UID})
	}
}

// observeSequel reports what happens to a pod after its start-up.
func (r *Reconciler) observeSequel(p *pod, o timeline.Observation) {
	if p.sequel == nil {
		return
	}
	switch o := o.(type) {
	case timeline.PodSeen:
		for _, run := range p.sequel.Observe(o.Pod) {
			r.tellLater(p, timeline.Later{Run: &run})
		}
	case timeline.EventSeen:
		r.laterEvent(p, o)
	}
}

// laterEvent reports an Event once. The kubelet creates Events one after the other, and the API
// server sends them in that order. So one instant is enough to know which were reported, whichever
// agent did it.
func (r *Reconciler) laterEvent(p *pod, o timeline.EventSeen) {
	said, dated := timeline.SaidOf(o)
	if !r.config.LaterEvents || !dated || !said.At.After(r.eventsUntil) || !said.At.After(p.settled.SettledAt) {
		return
	}
	r.eventsUntil = said.At
	if r.config.KeepEventsUntil != nil {
		r.config.KeepEventsUntil(said.At)
	}
	r.tellLater(p, timeline.Later{Event: &said})
}

func (r *Reconciler) tellLater(p *pod, later timeline.Later) {
	t := p.settled
	t.Later = &later
	r.config.Later(t)
}
