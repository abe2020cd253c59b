package reconcile

import (
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// If an Event occurred more than eventsWindow before the agent's start, the agent never reports the Event. The limit
// eventsWindow applies even if no agent ran when the Event occurred.
const eventsWindow = 5 * time.Minute

// restoreEvents sets the field eventsUntil. The agent reports only Events that are later than eventsUntil.
func (r *Reconciler) restoreEvents() {
	now := r.config.Now()
	r.eventsUntil = r.config.Restored.EventsUntil
	if r.eventsUntil.IsZero() || r.eventsUntil.After(now) {
		r.eventsUntil = now
	}
	if oldest := now.Add(-eventsWindow); r.eventsUntil.Before(oldest) {
		r.eventsUntil = oldest
	}
}

// beginPostStartup starts to follow a pod after its start-up.
func (r *Reconciler) beginPostStartup(p *pod, object timeline.Pod) {
	if r.config.Optional.PostStartup {
		p.postStartup = timeline.NewPostStartupRuns(object)
	}
}

func (r *Reconciler) endPostStartup(uid string, p *pod) {
	if p.postStartup != nil {
		p.postStartup = nil
		r.watchEvents(p, timeline.Pod{UID: uid})
	}
}

// observePostStartup reports events that occur after a pod's start-up.
func (r *Reconciler) observePostStartup(p *pod, o timeline.Observation) {
	if p.postStartup == nil {
		return
	}
	switch o := o.(type) {
	case timeline.PodSeen:
		for _, run := range p.postStartup.Observe(o.Pod) {
			run.ClockSet = r.clockLog.ChangedBetween(run.StartedAt, run.FinishedAt)
			r.reportPostStartup(p, timeline.PostStartup{Run: &run})
		}
	case timeline.EventSeen:
		r.reportEvent(p, o)
	}
}

// reportEvent reports each Event at most once. The kubelet creates Events sequentially, and the API server sends the
// Events in the order of their creation. Therefore, an Event is new if it is later than the latest reported Event.
// After a restart, the agent compares Events with the latest Event that the previous agent reported.
func (r *Reconciler) reportEvent(p *pod, o timeline.EventSeen) {
	message, dated := timeline.MessageOf(o)
	if !r.config.Optional.Events || !dated || !message.At.After(r.eventsUntil) || !message.At.After(p.settled.endedAt) {
		return
	}
	r.eventsUntil = message.At
	if r.config.Saver != nil {
		r.config.Saver.SetEventsUntil(message.At)
	}
	r.reportPostStartup(p, timeline.PostStartup{Event: &message})
}

func (r *Reconciler) reportPostStartup(p *pod, event timeline.PostStartup) {
	r.config.Report(Report{Kind: PostStartup, Timeline: p.settled.timeline(), PostStartup: event})
}
