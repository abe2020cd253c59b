package reconcile

import (
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// While a question to the runtime is unanswered, or not fully answered, it is repeated with
// back-off.
const (
	askAgainFirst = time.Second
	askAgainMax   = time.Minute
	// askGap is the shortest time between questions that changes of a pod's object cause.
	askGap = 200 * time.Millisecond
	// askAboutPulls is the shortest time between questions whether a pod can already pull. It has no back-off, because
	// until the runtime answers, a forged Event can hide the image that other pods wait for.
	askAboutPulls = 2 * time.Second
)

// pod is one pod of the node: its evidence while it starts, then its timeline.
type pod struct {
	evidence *timeline.Evidence // nil once settled
	settled  timeline.Timeline

	reported bool // by a previous agent, or under the UID of another mirror: shown, but not reported again
	restored bool // a previous agent saw it
	late     bool // first seen in a list

	ephemeral *timeline.EphemeralEvidence // follows ephemeral containers; nil while there is none to follow
	over      []string                    // names of ephemeral containers that were followed
	pulled    []timeline.Pull             // for ephemeral containers, the latest
	idle      []timeline.IdleContainer    // once settled

	postStartup *timeline.PostStartupRuns // nil while it starts, and if later events are not followed
	terminating *terminating              // nil until its deletion is requested, and if ends are not followed

	watching bool // an Event watch was requested
	// Why: the start-up, or an ephemeral container, needs it.
	requestsEvents, ephemeralRequestsEvents bool
	ephemeralAskedAt                        time.Time
	askedAt                                 time.Time // of the last question to the runtime
	asked                                   int       // questions since the pod object changed

	changed   bool      // since its progress was reported
	partialAt time.Time // when that was
}

func (r *Reconciler) timeline(p *pod, now time.Time) (timeline.Timeline, bool) {
	return r.timelineWith(p, now, r.clocks.Skew())
}

// timelineWith is for callers that need many timelines and already have the skew.
func (r *Reconciler) timelineWith(p *pod, now time.Time, skew timeline.Skew) (timeline.Timeline, bool) {
	if p.evidence == nil {
		t := p.settled
		t.EphemeralPulls = r.ephemeralPulls(p, now)
		t.Termination = p.termination(now, skew)
		return t, true
	}
	t, ok := p.evidence.Timeline(now, skew)
	t.Reconstructed = t.Reconstructed || p.reported
	t.Partial = true
	r.pulls.Complete(&t)
	r.silences.Complete(&t)
	r.pressure.Complete(&t)
	t.EphemeralPulls = r.ephemeralPulls(p, now)
	t.Termination = p.termination(now, skew)
	return t, ok
}

func (r *Reconciler) observe(o timeline.Observation) {
	r.clocks.Observe(o)
	r.silences.Observe(o)
	r.pressure.Observe(o)
	if answer, ok := o.(timeline.RuntimeSeen); ok {
		r.pulls.ObserveRuntime(answer)
	}
	if _, silent := o.(timeline.RuntimeSilent); silent && r.config.Keeper != nil {
		r.config.Keeper.Keep(o, true)
	}
	p := r.pods[o.PodUID()]
	object, seen := o.(timeline.PodSeen)
	_, gone := o.(timeline.PodGone)
	if p == nil {
		if !seen { // an answer about a pod that is already gone, or a report that a pod was removed while no agent ran
			if gone {
				r.leave(o.PodUID())
			}
			return
		}
		p = r.meet(o.PodUID(), r.config.Scope)
		p.reported = p.reported || r.mirrored(object.Pod)
		p.late = !object.Live
	}
	r.observeEphemeral(p, o)
	r.observeTermination(p, o)
	if p.evidence != nil {
		news := p.evidence.Apply(o)
		if event, ok := o.(timeline.EventSeen); ok {
			r.pulls.Observe(event, p.evidence.Pod())
		}
		if seen {
			p.asked = 0
		}
		if _, event := o.(timeline.EventSeen); event && news {
			r.eventsUsed.Add(1)
		}
		if r.config.Keeper != nil && !p.reported && !p.evidence.Reconstructed() {
			r.config.Keeper.Keep(o, news)
		}
		r.advance(p)
		p.changed = p.changed || news
		if news {
			r.reportChanged(o.PodUID())
		}
		if !gone {
			r.reportProgress(p)
		}
	} else {
		if seen {
			r.relabel(p, object.Pod)
			p.idle = object.Pod.IdleContainers()
		}
		r.observePostStartup(p, o)
	}
	if gone {
		r.forget(o.PodUID(), p)
	}
}

// relabel updates the labels of a settled pod: they are for queries, not evidence.
func (r *Reconciler) relabel(p *pod, now timeline.Pod) {
	if p.settled.Labels != now.Labels {
		p.settled.Labels = now.Labels
		r.reportChanged(now.UID)
	}
}

// meet creates the state of a pod that this agent has not seen yet.
func (r *Reconciler) meet(uid string, scope timeline.Scope) *pod {
	reported := r.reported[uid]
	if reported {
		delete(r.reported, uid)
		scope.Since = time.Time{} // do not wait for anything more
	}
	p := &pod{evidence: timeline.NewEvidence(scope), reported: reported}
	r.pods[uid] = p
	r.countStarting(+1)
	return p
}

// countStarting changes the number of starting pods.
func (r *Reconciler) countStarting(by int) {
	before := r.starting
	r.starting += by
	if before == 0 || r.starting == 0 {
		r.config.Sources.SampleNode(r.starting > 0)
	}
}

// mirrored reports whether the same start-up of a static pod already has another object, because its mirror was
// recreated.
func (r *Reconciler) mirrored(made timeline.Pod) bool {
	if made.ReadAt.IsZero() {
		return false
	}
	id := made.StartUpID()
	if slices.Contains(r.mirrors, id) {
		return true
	}
	for uid, p := range r.pods {
		switch {
		case uid == made.UID:
		case p.evidence == nil && p.settled.ID() == id, p.evidence != nil && p.evidence.Pod().StartUpID() == id:
			return true
		}
	}
	return false
}

// leave handles the removal of a pod's object.
func (r *Reconciler) leave(uid string) {
	delete(r.reported, uid)
	if r.config.Keeper != nil {
		r.config.Keeper.Gone(uid)
	}
}

// advance passes the pod's requests to the sources, and ends its start-up when it is settled.
func (r *Reconciler) advance(p *pod) {
	if p.evidence == nil {
		return
	}
	now := r.config.Now()
	if p.evidence.Settled(now) {
		r.settle(p, now)
		return
	}
	requests := p.evidence.Requests(now)
	object := p.evidence.Pod()
	refutable := now.Sub(p.askedAt) > askAboutPulls && r.pulls.RequestsRuntime(object.UID)
	if requests.Runtime && p.mayAsk(requests, now) || refutable {
		p.askedAt = now
		p.asked++
		r.askRuntime(object, requests)
	}
	p.requestsEvents = requests.Events
	r.watchEvents(p, object)
}

func (r *Reconciler) askRuntime(object timeline.Pod, requests timeline.Requests) {
	r.config.Sources.AskRuntime(timeline.LookUp{
		UID: object.UID, RuntimeUID: object.RuntimeUID, Images: requests.Images, Layers: requests.Layers,
		Network: requests.Network,
	})
}

// mayAsk reports whether the runtime may be queried now. A change of the pod object is a reason for a query. But most
// changes of a starting pod come in quick succession, and the runtime's timestamps stay. Two facts cannot wait: what
// the runtime had when the kubelet checked, and the end of the start-up.
func (p *pod) mayAsk(requests timeline.Requests, now time.Time) bool {
	since := now.Sub(p.askedAt)
	if p.asked > 0 {
		return since > p.askAgainAfter()
	}
	return since >= askGap || len(requests.Images) > 0 || p.evidence.Ended()
}

func (p *pod) askAgainAfter() time.Duration {
	return min(askAgainFirst<<min(p.asked-1, 10), askAgainMax)
}

// watchEvents keeps a watch open while the start-up or an ephemeral container needs one.
func (r *Reconciler) watchEvents(p *pod, object timeline.Pod) {
	wanted := p.requestsEvents || p.ephemeralRequestsEvents || p.postStartup != nil && r.config.Follow.Events
	if p.watching == wanted {
		return
	}
	p.watching = wanted
	if wanted {
		r.config.Sources.WatchEvents(timeline.EventWatch{
			UID: object.UID, InvolvedUID: object.RuntimeUID, Namespace: object.Namespace, Name: object.Name,
		})
	} else {
		r.config.Sources.UnwatchEvents(object.UID)
	}
}

// settle makes the pod's timeline final. A start-up that was over before the agent first saw the
// pod is shown but not reported, because it may have been counted already. The same applies to a start-up that was
// reported before.
func (r *Reconciler) settle(p *pod, now time.Time) {
	object := p.evidence.Pod()
	p.requestsEvents = false
	r.beginPostStartup(p, object)
	r.watchEvents(p, object)
	p.settled, _ = r.timeline(p, now)
	p.settled.Partial = false
	p.settled.Termination = nil // reported separately
	r.pulls.Settle(p.settled)
	p.evidence, p.idle = nil, object.IdleContainers()
	r.countStarting(-1)
	r.reportChanged(p.settled.UID)
	r.reconstructed.count(p)
	if p.settled.Reconstructed {
		return
	}
	r.config.Logger.Debug("pod settled", zap.String("namespace", p.settled.Namespace),
		zap.String("pod", p.settled.Name), zap.String("state", string(p.settled.State)))
	r.config.Report(Report{Kind: Settled, Timeline: p.settled})
}

// settleEnded is called at the end of the agent: late Events will not come any more. Start-ups that still wait for the
// runtime are left to the next agent, if it will find them in the state.
func (r *Reconciler) settleEnded() {
	now := r.config.Now()
	for _, p := range r.pods {
		if p.evidence == nil || !p.evidence.Ended() {
			continue
		}
		if left := r.config.Keeper != nil && p.evidence.Requests(now).Runtime &&
			r.config.Keeper.Kept(p.evidence.Pod().UID); !left {
			r.settle(p, now)
		}
	}
}

// forget drops a pod whose object was removed. There will be no more evidence, so it settles now.
func (r *Reconciler) forget(uid string, p *pod) {
	r.endEphemeral(p)
	if p.evidence != nil {
		r.settle(p, r.config.Now())
	}
	r.endPostStartup(p)
	delete(r.pods, uid)
	r.leave(uid)
	if !p.settled.ReadAt.IsZero() {
		r.mirrors = append(r.mirrors, p.settled.ID())
		r.mirrors = r.mirrors[max(0, len(r.mirrors)-maxGone):]
	}
	gone, _ := r.timeline(p, r.config.Now())
	r.terminate(p, gone)
	r.config.Report(Report{Kind: Forgotten, Timeline: gone})
}
