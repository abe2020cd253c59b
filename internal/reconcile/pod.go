package reconcile

import (
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// Intervals between queries to the runtime. The agent repeats a query with back-off until the runtime's response is
// complete.
const (
	repeatQueryFirst = time.Second
	repeatQueryMax   = time.Minute
	// If a change of the pod object causes a query, queryGap is the minimum time since the previous query. If all
	// images of a pod are already on the node, the agent usually sends two queries: one when the pod arrives, and one
	// when it is ready. If the pod object reports a new container run, the agent waits only for the time queryGapRuns.
	// queryGapRuns is short, because the runtime soon forgets the run if a client deletes the pod without a grace
	// period.
	queryGap     = time.Second
	queryGapRuns = 200 * time.Millisecond
	// If a query only checks an Event about one of the pod's pulls, pullQueryGap is the minimum time since the previous
	// query. A query that checks an Event has no back-off, because only the runtime's response can show that the Event
	// is forged. Until this response arrives, a forged Event can hide which image other pods wait for.
	pullQueryGap = 2 * time.Second
)

// pod holds the state of one pod on the node. During the start-up, pod holds the evidence of the start-up. After the
// start-up, pod holds the timeline.
type pod struct {
	evidence *timeline.Evidence // evidence of the start-up; nil after the start-up is settled
	settled  settledStartUp

	// reported is true if a previous agent reported the start-up. reported is also true for a mirror pod if another
	// mirror pod already represents the same start-up. If reported is true, the agent's API shows the start-up, but the
	// agent does not report the start-up again.
	reported bool
	restored bool // true if a previous agent saved observations of the pod
	late     bool // true if the agent first saw the pod in a list, not through the open watch
	// arrivedAt is the time at which the open watch first delivered the pod. arrivedAt is zero if the agent first saw
	// the pod in a list, or if the pod is static.
	arrivedAt time.Time

	ephemeral *timeline.EphemeralEvidence // evidence of ephemeral containers; nil if the agent follows none
	over      []string                    // names of ephemeral containers that the Reconciler no longer follows
	pulled    []timeline.Pull             // latest pulls for ephemeral containers
	idle      []timeline.IdleContainer    // containers for which the kubelet can pull an image; set after the start-up

	postStartup *timeline.PostStartupRuns // nil during the start-up, or if Optional.PostStartup is false
	terminating *terminatingPod           // nil before the deletion request, or if Optional.Terminations is false

	watching bool // true while the agent requests an Event watch
	// requestsEvents is true if the start-up requires an Event watch. ephemeralRequestsEvents is true if an ephemeral
	// container requires an Event watch.
	requestsEvents, ephemeralRequestsEvents bool
	ephemeralQueriedAt                      time.Time
	queriedAt                               time.Time // time of the last query to the runtime
	queries                                 int       // number of queries since the pod object changed

	changed   bool      // true if the start-up changed after the last progress report
	partialAt time.Time // time of the last progress report
}

func (r *Reconciler) timeline(p *pod, now time.Time) (timeline.Timeline, bool) {
	return r.timelineWith(p, now, r.clocks.Skew())
}

// timelineWith returns the pod's timeline for a given clock skew. If a caller needs many timelines, the caller computes
// the skew only once.
func (r *Reconciler) timelineWith(p *pod, now time.Time, skew timeline.Skew) (timeline.Timeline, bool) {
	t, ok := p.settled.timeline(), true
	if p.evidence != nil {
		t, ok = p.evidence.Timeline(now, skew)
		t.Reconstructed = t.Reconstructed || p.reported
		t.Partial = true
		r.pulls.Complete(&t)
		r.silences.Complete(&t)
		r.pressure.Complete(&t)
	}
	t.EphemeralPulls = r.ephemeralPulls(p, now)
	t.Termination = p.terminationAt(now, skew)
	return t, ok
}

func (r *Reconciler) observe(o timeline.Observation) {
	r.clocks.Observe(o)
	r.silences.Observe(o)
	r.pressure.Observe(o)
	if response, ok := o.(timeline.RuntimeSeen); ok {
		r.pulls.ObserveRuntime(response)
	}
	r.observeClockSet(o)
	switch o.(type) {
	case timeline.RuntimeSilent, timeline.ClockSet:
		if r.config.Saver != nil {
			r.config.Saver.Observe(o, true)
		}
	}
	p := r.pods[o.PodUID()]
	object, seen := o.(timeline.PodSeen)
	_, gone := o.(timeline.PodGone)
	if p == nil {
		if !seen { // the pod was removed, perhaps while no agent ran
			if gone {
				r.forgetSaved(o.PodUID())
			}
			return
		}
		p = r.addPod(o.PodUID(), r.config.Scope)
		p.reported = p.reported || r.isMirrored(object.Pod)
		p.late = !object.Live
		if object.Live && object.Pod.ReadAt.IsZero() {
			p.arrivedAt = object.ArrivedAt
			r.config.Sources.PodStarting()
		}
		r.clockLog.ApplyTo(p.evidence, object)
	}
	r.observeEphemeral(p, o)
	r.observeTermination(p, o)
	if p.evidence != nil {
		news := p.evidence.Apply(o)
		if event, ok := o.(timeline.EventSeen); ok {
			r.pulls.Observe(event, p.evidence.Pod())
			if news {
				r.eventsUsed.Add(1)
			}
		}
		if seen {
			p.queries = 0
		}
		if r.config.Saver != nil && !p.reported && !p.evidence.Reconstructed() {
			r.config.Saver.Observe(o, news)
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

// relabel updates the labels of a pod whose start-up is settled. Labels are not evidence of the start-up. But clients
// select pods by label, so the labels must be current.
func (r *Reconciler) relabel(p *pod, now timeline.Pod) {
	if p.settled.labels != now.Labels {
		p.settled.labels = now.Labels
		r.reportChanged(now.UID)
	}
}

// addPod creates the state of a pod that this agent sees for the first time.
func (r *Reconciler) addPod(uid string, scope timeline.Scope) *pod {
	reported := r.reported[uid]
	if reported {
		delete(r.reported, uid)
		scope.Since = time.Time{} // without Since, the agent requests less evidence; a reported start-up needs no more
	}
	p := &pod{evidence: timeline.NewEvidence(scope), reported: reported}
	r.pods[uid] = p
	r.countStarting(+1)
	return p
}

// countStarting changes the number of starting pods. The agent samples the node while at least one pod is starting.
func (r *Reconciler) countStarting(by int) {
	before := r.starting
	r.starting += by
	if before == 0 || r.starting == 0 {
		r.config.Sources.SampleNode(r.starting > 0)
	}
}

// isMirrored reports whether another mirror pod already represents the same start-up of a static pod. If the kubelet
// recreates a mirror pod, the old and the new mirror pod represent the same start-up.
func (r *Reconciler) isMirrored(made timeline.Pod) bool {
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
		case p.evidence == nil && p.settled.staticID == id, p.evidence != nil && p.evidence.Pod().StartUpID() == id:
			return true
		}
	}
	return false
}

// forgetSaved removes the saved data of a pod whose object was deleted.
func (r *Reconciler) forgetSaved(uid string) {
	delete(r.reported, uid)
	if r.config.Saver != nil {
		r.config.Saver.Gone(uid)
	}
}

// advance requests the pod's missing evidence from the sources. If the evidence is settled (Evidence.Settled), advance
// calls settle and returns.
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
	refutable := now.Sub(p.queriedAt) > pullQueryGap && r.pulls.RequestsRuntime(object.UID)
	if requests.Runtime && p.mayQueryRuntime(requests, now) || refutable {
		p.queriedAt = now
		p.queries++
		r.requestRuntime(object, requests)
	}
	p.requestsEvents = requests.Events
	r.watchEvents(p, object)
}

func (r *Reconciler) requestRuntime(object timeline.Pod, requests timeline.Requests) {
	r.config.Sources.RequestRuntime(timeline.RuntimeRequest{
		UID: object.UID, RuntimeUID: object.RuntimeUID, Images: requests.Images, Layers: requests.Layers,
		Network: requests.Network, Runs: requests.Runs,
	})
}

// mayQueryRuntime reports whether the agent can query the runtime now. After a change of the pod object, the next query
// does not wait for the back-off. A starting pod changes often, so most queries wait until queryGap has passed since
// the previous query. The wait for queryGap is harmless, because the runtime keeps its timestamps. A query about the
// presence of images does not wait, because the kubelet soon pulls absent images. A query after the end of the start-up
// does not wait either.
func (p *pod) mayQueryRuntime(requests timeline.Requests, now time.Time) bool {
	since := now.Sub(p.queriedAt)
	if p.queries > 0 {
		return since > p.repeatQueryAfter()
	}
	return since >= queryGap || requests.Runs && since >= queryGapRuns || len(requests.Images) > 0 || p.evidence.Ended()
}

func (p *pod) repeatQueryAfter() time.Duration {
	return min(repeatQueryFirst<<min(p.queries-1, 10), repeatQueryMax)
}

// watchEvents keeps an Event watch open while the start-up, an ephemeral container, or Optional.Events requires it.
func (r *Reconciler) watchEvents(p *pod, object timeline.Pod) {
	wanted := p.requestsEvents || p.ephemeralRequestsEvents || p.postStartup != nil && r.config.Optional.Events
	if p.watching == wanted {
		return
	}
	p.watching = wanted
	if wanted {
		r.config.Sources.WatchEvents(timeline.EventWatch{
			UID: object.UID, InvolvedUID: object.RuntimeUID, Namespace: object.Namespace, Name: object.Name,
			ArrivedAt: p.arrivedAt,
		})
	} else {
		r.config.Sources.UnwatchEvents(object.UID)
	}
}

// settle makes the pod's timeline final and reports it at most once. settle does not report a reconstructed start-up,
// because a previous agent might have reported it. The agent's API shows every settled start-up, even if settle does
// not report it.
func (r *Reconciler) settle(p *pod, now time.Time) {
	object := p.evidence.Pod()
	p.requestsEvents = false
	r.beginPostStartup(p, object)
	r.watchEvents(p, object)
	settled, _ := r.timeline(p, now)
	settled.Partial = false
	settled.Termination = nil // the agent reports terminations separately
	r.pulls.Settle(settled)
	p.settled = newSettled(settled)
	p.evidence, p.idle = nil, object.IdleContainers()
	r.countStarting(-1)
	r.reportChanged(settled.UID)
	r.reconstructed.countSettled(p, settled.Reconstructed)
	if settled.Reconstructed {
		return
	}
	r.config.Logger.Debug("the pod's start-up is over", zap.String("namespace", settled.Namespace),
		zap.String("pod", settled.Name), zap.String("state", string(settled.State)))
	r.config.Report(Report{Kind: Settled, Timeline: settled})
}

// settleEnded runs when the agent stops. settleEnded settles completed start-ups without waiting for late Events,
// because the stopping agent receives no more Events. settleEnded skips a start-up that still needs a response from the
// runtime, if the state file contains the start-up. The next agent settles the skipped start-up.
func (r *Reconciler) settleEnded() {
	now := r.config.Now()
	for _, p := range r.pods {
		if p.evidence == nil || !p.evidence.Ended() {
			continue
		}
		if left := r.config.Saver != nil && p.evidence.Requests(now).Runtime &&
			r.config.Saver.Saved(p.evidence.Pod().UID); !left {
			r.settle(p, now)
		}
	}
}

// forget drops a pod whose object was deleted. If the start-up is not settled yet, forget settles it, because no more
// evidence will arrive.
func (r *Reconciler) forget(uid string, p *pod) {
	r.endEphemeral(p)
	if p.evidence != nil {
		r.settle(p, r.config.Now())
	}
	r.endPostStartup(uid, p)
	delete(r.pods, uid)
	r.forgetSaved(uid)
	if p.settled.staticID != "" {
		r.mirrors = append(r.mirrors, p.settled.staticID)
		r.mirrors = r.mirrors[max(0, len(r.mirrors)-maxGone):]
	}
	gone, _ := r.timeline(p, r.config.Now())
	r.terminate(p, gone)
	r.config.Report(Report{Kind: Forgotten, Timeline: gone})
}
