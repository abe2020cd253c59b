package eventwatch

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// stallPatience is longer than client-go needs to close a connection that delivers nothing. client-go sends a ping
// after 30 s, and waits 15 s for the response (k8s.io/apimachinery, pkg/util/net/http.go).
const stallPatience = time.Minute

// watchSession is one open watch connection. The connection begins with the API server's response and ends when the
// stream closes. Only the goroutine of Source.keepOpen uses a watchSession.
type watchSession struct {
	source   *Source
	watcher  *watcher
	observe  func(timeline.Observation)
	from     startPoint
	openedAt time.Time
	members  []*member
	cache    *eventCache // remembered Events of a shared watch; nil for the watch of one pod
	usage    eventUsage
	proof    *proof
	accepted bool // true after the first event, or after the watch was open for some time without an error
	proven   bool // the watch has delivered all existing Events
	broken   bool // the API server or the network ended the watch

	// wideCount and crowdedCount detect whether a shared watch delivers too many Events that the agent does not need.
	// After too many unneeded Events, the namespace counts as wide or crowded (see crowdedSample).
	wideCount, crowdedCount usageCount

	// sawNodeName is true if at least one Event about a requested pod contained this node's name as the host.
	// sawOtherHost is true if at least one Event about a requested pod contained another host.
	sawNodeName, sawOtherHost bool
}

// member is a pod that an open watch serves.
type member struct {
	pod *request
	// From the time in the field "since" on, the pod's watches have delivered every Event about the pod. If Events
	// about the pod can be missing, the field "since" is zero.
	since time.Time
	// fromHistory is true if the pod had no position, and this watch began with all existing Events. So only this watch
	// provides the revision up to which the agent has observed the pod's Events.
	fromHistory bool
	// confirmed is true after reportOrAddOwnWatches has found that no Events of the pod are missing.
	confirmed bool
	// complete is true if the agent has observed every Event that the watch has received about the pod.
	complete bool
}

// beginSession returns the session of a watch that has just opened. The session contains the pods that the watch serves
// now.
func (s *Source) beginSession(ctx context.Context, w *watcher, from startPoint) *watchSession {
	r := &watchSession{
		source: s, watcher: w, from: from, openedAt: s.recordOpened(w), proof: newProof(from.revision),
		observe: func(o timeline.Observation) { s.config.Observe(ctx, o) },
	}
	if w.alone == nil {
		r.cache = newEventCache(s.rememberLimit)
		r.wideCount.since = r.openedAt
		// The watch first delivers older Events, so the first count begins at the time from.since. If the watch begins
		// with all existing Events, from.since is zero. So the first count covers more than sampleWithin, and cannot
		// show that the namespace is crowded.
		r.crowdedCount.since = from.since
	}
	for _, one := range s.podStates(w) {
		r.members = append(r.members, &member{pod: one.pod, complete: true})
	}
	r.findCovered()
	return r
}

// recordAccepted records that the API server accepted the watch.
func (r *watchSession) recordAccepted() {
	if r.accepted {
		return
	}
	r.accepted = true
	r.source.metrics.starts.count(r.from)
	r.source.config.Report(true, r.source.healthText())
}

// close ends the session. If a pod is confirmed (member.confirmed) and no other open watch covers the pod, close
// reports EventsLost for this pod.
func (r *watchSession) close(ctx context.Context) {
	r.source.recordClosed(r.watcher)
	stalled := r.broken && r.source.config.Now().Sub(r.openedAt) < stallPatience
	for _, m := range r.members {
		if stalled && m.fromHistory {
			r.source.readAgain(m.pod)
		}
		r.advanceMember(m)
		if m.confirmed {
			m.pod.reportLoss(ctx, r.watcher, timeline.EventsLost{ArrivedAt: r.source.config.Now()}, r.observe)
		}
	}
}

// findCovered finds the pods whose Events the watch delivers without a gap.
func (r *watchSession) findCovered() {
	for _, m := range r.members {
		if m.since.IsZero() && m.complete && r.source.deliversAll(r.from, r.openedAt, m.pod) {
			m.since = r.openedAt
		}
	}
}

// advanceMember records the revision up to which the agent has observed a pod's Events.
func (r *watchSession) advanceMember(m *member) {
	if !m.since.IsZero() && (r.proven || !r.from.history) {
		r.source.advancePosition(m.pod, r.proof.newest, false)
	}
}

// beganAtValidRevision reports whether the start revision of the watch was valid. A slow API server can report an
// expired start revision some time after the watch opened. So the start revision counts as valid only after the watch
// has delivered a newer Event, or has been open for leaseTime.
func (r *watchSession) beganAtValidRevision() bool {
	return r.proof.newest > r.from.revision || r.source.config.Now().Sub(r.openedAt) >= leaseTime
}

func (r *watchSession) advanceMembers() {
	for _, m := range r.members {
		r.advanceMember(m)
	}
}

// deliveredRevision returns the revision up to which the watch has delivered Events. If the watch begins with all
// existing Events and has delivered no Event yet, deliveredRevision returns zero, because the API server might still be
// reading the existing Events. If the result is zero, a pod gets no start revision for its next watch. So the next
// watch can begin with all existing Events again.
func (r *watchSession) deliveredRevision() uint64 {
	if r.from.history && r.usage.received == 0 {
		return 0
	}
	return r.proof.newest
}

// checkUsage checks whether a shared watch delivers too many Events that the agent does not need. If the agent needs
// too few of the Events, checkUsage marks the namespace as wide or crowded, and can replace the shared watch with
// watches on single pods. The existing Events of a namespace do not make the namespace crowded.
func (r *watchSession) checkUsage() {
	s, now := r.source, r.source.config.Now()
	switch {
	case r.watcher.alone != nil:
	case r.wideCount.isWasteful(r.usage, s.wideSample, now):
		r.advanceMembers()
		s.markWide(r.watcher)
	case (r.proven || !r.from.history) && r.crowdedCount.isWasteful(r.usage, s.crowdedSample, now):
		r.advanceMembers()
		s.markCrowded(r.watcher)
	}
}

// updateMembers updates the list of pods that a shared watch serves. For each pod, updateMembers also checks whether
// the pod's own watch has delivered the Events that the shared watch lacks. For a new pod, updateMembers delivers the
// pod's Events from the cache of the shared watch.
func (r *watchSession) updateMembers() {
	known := make(map[*request]*member, len(r.members))
	for _, m := range r.members {
		known[m.pod] = m
	}
	states := r.source.podStates(r.watcher)
	members := make([]*member, 0, len(states))
	for _, s := range states {
		m := known[s.pod]
		if m == nil {
			m = &member{pod: s.pod}
			for _, past := range r.cache.eventsOf(s.pod.watch) {
				s.pod.deliver(past.key, past.seen, true, r.observe)
			}
			m.complete = !r.cache.mayLackEvents(s.pod.watch) && r.knowsKubelet()
		}
		if m.since.IsZero() {
			// If deliveredSince is set, the pod's own watch has delivered the Events that the cache of the shared watch
			// lacks. The shared watch and the pod's own watch both deliver each new Event of the pod.
			m.since = s.deliveredSince
		}
		members = append(members, m)
		delete(known, s.pod)
	}
	for _, m := range known {
		r.advanceMember(m)
	}
	r.members = members
	r.findCovered()
}

// reportOrAddOwnWatches runs when a watch has delivered all existing Events. The function runs again after each later
// signal in watcher.changed. If no Events of a pod are missing, reportOrAddOwnWatches reports EventsWatched for the
// pod. A pod waits for a sample if two conditions are met: member.complete is true, and the sample will provide the
// pod's position (Source.awaitsSample). If Events of a pod are missing and the pod does not wait for a sample,
// reportOrAddOwnWatches calls addOwnWatch.
func (r *watchSession) reportOrAddOwnWatches() {
	for _, m := range r.members {
		if m.confirmed {
			continue
		}
		var at position
		known := !m.since.IsZero()
		if known {
			history := r.from.history && m.complete
			m.fromHistory = history && !r.source.hasPosition(m.pod)
			at, known = r.source.advancePosition(m.pod, r.deliveredRevision(), history)
		}
		if !known {
			m.since = time.Time{}
			if !m.complete || !r.source.awaitsSample(m.pod) {
				r.source.addOwnWatch(m.pod)
			}
			continue
		}
		m.confirmed = true
		m.pod.reportWatched(r.watcher, timeline.EventsWatched{
			ArrivedAt: r.source.config.Now(), OpenedAt: m.since, Since: at.since, Limited: at.limited,
		}, r.observe)
		if r.watcher.alone == nil {
			r.source.stopOwnWatch(m.pod, r.watcher)
		}
	}
}

// extendDeadlineDuring calls the function "over", which passes on observations and can take a long time. During the
// call, the session receives no Events. So extendDeadlineDuring extends the deadline of r.proof by the duration of the
// call.
func (r *watchSession) extendDeadlineDuring(over func()) {
	began := time.Now()
	over()
	if !r.proven {
		r.proof.postpone(time.Since(began))
	}
}

// knowsKubelet returns false if the cache seems to lack the Events of this node's kubelet. The cache holds only Events
// that contain this node's name as the host. If all Events about requested pods contain another host, the agent assumes
// that the kubelet of this node does not use the node's name as the host. An Event with a forged other host can make
// the result false, but only until the kubelet's next Event about a requested pod.
func (r *watchSession) knowsKubelet() bool { return r.sawNodeName || !r.sawOtherHost }

// passEvent passes an Event to the requested pod that the Event concerns. A shared watch also remembers the Event if
// the Event concerns a pod and comes from this node. passEvent ignores bookmarks, because they contain no Event.
// passEvent also ignores the watch event DELETED, which means that the Event's time to live ended.
//
// A client that can create Events in a namespace chooses the content of these Events. So passEvent refuses an Event
// that is too large to come from the kubelet. passEvent also refuses an Event if one of its identifiers is too long,
// for example a name or a UID. Finally, passEvent refuses an Event that has a requested pod's UID but concerns another
// object.
func (r *watchSession) passEvent(event watch.Event) {
	object, ok := event.Object.(*corev1.Event)
	switch {
	case !ok:
		return
	case isTooLarge(event.Type, object):
		r.source.metrics.refused.oversized.Inc()
		return
	case event.Type != watch.Added && event.Type != watch.Modified:
		return
	}
	r.source.metrics.received.Inc()
	if highest := r.proof.observeVersion(object.ResourceVersion); highest && (r.proven || !r.from.history) {
		r.source.recordRevision(r.proof.newest)
	}
	if isOversized(object) {
		r.source.metrics.refused.oversized.Inc()
		return
	}
	pod, ofPod := involvedIn(object)
	here := object.Source.Host == r.source.config.NodeName
	key, seen := keyOf(object), convertEvent(object, "", r.openedAt, r.source.config.Now())
	if here && event.Type == watch.Added {
		r.reportDelay(seen)
	}
	if r.cache != nil && here && ofPod {
		r.cache.add(pod, key, seen)
	}
	r.usage.received++
	for _, m := range r.members {
		if m.pod.watch.InvolvedUID != pod.uid {
			continue
		}
		r.usage.used++
		if !ofPod || involvedOf(m.pod.watch) != pod {
			r.source.metrics.refused.pod.Inc()
			continue
		}
		r.sawNodeName, r.sawOtherHost = r.sawNodeName || here, r.sawOtherHost || !here
		if !m.pod.deliver(key, seen, here, r.observe) {
			r.source.metrics.refused.host.Inc()
			continue
		}
		r.source.countUsed(r.watcher.namespace)
	}
}

// reportDelay reports the time between the creation and the arrival of an Event. reportDelay ignores an Event that is
// older than the watch, because an earlier watch might have delivered this Event already. The time of the second
// delivery says nothing about the delay.
func (r *watchSession) reportDelay(seen timeline.EventSeen) {
	if delay := r.source.config.Delay; delay != nil && seen.NamedAt.After(r.openedAt) {
		delay(max(0, seen.ArrivedAt.Sub(seen.NamedAt)))
	}
}

// readAgain makes the pod's next watch begin with all existing Events, unless the namespace is large. The agent calls
// readAgain if a watch that began with all existing Events broke early. The connection of this watch might have stalled
// before it delivered all existing Events, although the agent assumed that all existing Events had arrived (see type
// proof). readAgain acts only once for each pod. Without this limit, a proxy that closes each watch early would make
// the agent read all existing Events again and again.
func (s *Source) readAgain(p *request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !p.readAgain {
		p.readAgain = true
		p.forgetPosition()
	}
}

func (s *Source) hasPosition(p *request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return p.position != nil
}
