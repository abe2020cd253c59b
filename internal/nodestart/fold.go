package nodestart

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Names of the sources that show when a phase begins or ends.
const (
	sourceMachine = "proc"
	sourceNode    = "node_watch"
	sourceEvents  = "events"
	sourcePods    = "pods"
)

// known is a boundary between two phases, and the sources that show its time. If isKnown is false, no evidence shows
// the time of the boundary.
type known struct {
	interval
	sources []string
	isKnown bool
}

func knownAs(i interval, sources ...string) known { return known{i, sources, true} }

// fold computes one timeline.
type fold struct {
	*Evidence
	now        time.Time
	end        interval // the end of the start-up; equal to now if no workload pod is ready
	open       bool
	booted     known
	kubelet    known // the kubelet started
	registered known
	ready      known // the condition Ready became true for the first time after the boot
	network    known // the condition NetworkUnavailable became false
	first      *candidate
	cursor     interval // when the next phase starts
	sources    []string // the sources that show when the next phase starts
	spans      []Span
	missing    []string
}

// Timeline computes the timeline of the start-up. If a phase is still in progress, it ends at the time in the argument
// "now". If no boot was observed, the second result is false.
func (e *Evidence) Timeline(now time.Time) (Timeline, bool) {
	if !e.booted {
		return Timeline{}, false
	}
	f := fold{Evidence: e, now: now}
	f.milestones()
	f.first = f.firstWorkload()
	t := Timeline{Node: e.name, BootID: e.boot.BootID, BootedAt: f.booted.at, State: StateStarting}
	f.end, f.open = exactly(now), true
	switch {
	case f.first != nil && f.first.isReady():
		f.end, f.open, t.State = f.first.ready.interval, false, StateReady
		t.SettledAt, t.Partial = f.end.at, f.first.timeline != nil && f.first.timeline.Partial
		t.Reconstructed = e.isBeforeFirstResponse(f.end.latest)
	case now.Sub(e.boot.ArrivedAt) >= GiveUpAfter:
		t.State, t.SettledAt, f.open = StateGivenUp, now, false
		t.Reconstructed = e.age >= GiveUpAfter
	default:
		t.Partial = true
	}
	f.cursor, f.sources = f.booted.interval, f.booted.sources
	if e.clockSet > 0 {
		f.clockChanged()
	} else {
		f.addPhases()
	}
	if e.dropped {
		f.missing = append(f.missing, missingPods)
	}
	t.Phases, t.Missing = f.spans, f.missing
	t.Total, t.TotalError = between(f.booted.interval, laterOf(f.booted.interval, f.end))
	t.Milestones, t.NotReady, t.Taints = f.milestonesReached(), f.messages(), f.taintsSeen()
	t.DaemonSets, t.Workload = f.children(), f.workload()
	return t, true
}

// clockChanged describes the whole start-up as one phase, PhaseUnattributed. If the node's clock was set during the
// start-up, no evidence shows which timestamps are from before the change. So only the total time of the start-up is
// known. clockChanged adds f.clockSet, the greatest possible sum of all changes, to the error bound of the total time.
func (f *fold) clockChanged() {
	f.booted.earliest, f.booted.latest = f.booted.earliest.Add(-f.clockSet), f.booted.latest.Add(f.clockSet)
	f.cursor = f.booted.interval
	f.kubelet, f.registered, f.ready, f.network = known{}, known{}, known{}, known{}
	without := *f.Evidence
	without.states = nil
	f.Evidence = &without
	f.missing = append(f.missing, timeline.MissingClock)
	f.endPhaseAt(knownAs(f.end, sourcePods), Span{Phase: PhaseUnattributed})
}

// milestones sets the time of each milestone: boot, start of the kubelet, registration, readiness and network.
func (f *fold) milestones() {
	f.booted = knownAs(truncated(f.boot.At, f.boot.Resolution), sourceMachine)
	f.registered = f.registration()
	f.kubelet = f.kubeletStart()
	f.ready = f.readiness()
	f.network = f.networkAvailability()
}

// hasAllEvents reports whether the list of Events contains all Events since the boot.
func (f *fold) hasAllEvents() bool {
	return !f.listedAt.IsZero() && f.listedAt.Sub(f.boot.At) < eventsExpire
}

// firstEvent finds the first Event since the boot with the given reason. The kubelet creates an Event at most
// eventDelay after the change that the Event reports. The returned interval contains the time of this change.
func (f *fold) firstEvent(why string) (interval, bool) {
	var first time.Time
	for _, event := range f.events {
		after := event.Reason == why && !event.At.Before(f.boot.At)
		if after && (first.IsZero() || event.At.Before(first)) {
			first = event.At
		}
	}
	return interval{later(first.Add(-eventDelay), f.boot.At), first, first}, f.hasAllEvents() && !first.IsZero()
}

// kubeletStart returns when the kubelet first started after the boot. kubeletStart uses the kubelet's Event with the
// reason Starting. If this Event is later than the registration, the kubelet has restarted. The Event of the first
// start is then lost, and the result is unknown.
func (f *fold) kubeletStart() known {
	i, ok := f.firstEvent(ReasonStarting)
	if !ok || f.registered.isKnown && i.earliest.After(f.registered.latest) {
		return known{}
	}
	if proof := f.registeredBefore(); !proof.IsZero() && i.earliest.After(proof) {
		return known{}
	}
	return knownAs(i, sourceEvents)
}

// registration returns when the kubelet registered the node. If the Node object was created after the boot, the result
// is the time of its creation. If the Node object is older than the boot, the result is the time of the first status
// that the kubelet wrote after the boot.
func (f *fold) registration() known {
	if len(f.states) == 0 {
		return known{}
	}
	first := f.states[0]
	if f.createdAfterBoot() {
		i := f.controlPlaneInterval(f.createdAt)
		if proof := f.registeredBefore(); !proof.IsZero() {
			i = interval{f.boot.At, i.latest, proof}
		}
		return knownAs(i.notAfter(first.arrivedAt), sourceNode)
	}
	i := interval{later(f.boot.At, f.absentFrom), first.arrivedAt, first.arrivedAt}
	if !f.firstStamp.IsZero() && f.firstStamp.Add(second).Before(i.latest) {
		i = interval{i.earliest, f.firstStamp.Add(second), f.firstStamp.Add(second / 2)}.withEstimateInside()
	}
	if rebooted, ok := f.firstEvent(ReasonRebooted); ok && !rebooted.earliest.After(i.latest) {
		return knownAs(interval{later(i.earliest, rebooted.earliest), i.latest, rebooted.at}.withEstimateInside(),
			sourceEvents, sourceNode)
	}
	return knownAs(i, sourceNode)
}

func (f *fold) createdAfterBoot() bool { return !f.createdAt.Before(f.boot.At) }

// controlPlaneInterval returns the interval that contains the time of a timestamp from the control plane's clock. If
// the clocks of the control plane and the node certainly differ, controlPlaneInterval extends the interval by this
// difference, as package timeline does.
func (f *fold) controlPlaneInterval(t time.Time) interval {
	i := truncated(t, second)
	if f.skew.Proven() {
		i.earliest = i.earliest.Add(-max(0, f.skew.Most))
		i.latest = i.latest.Add(-min(0, f.skew.Least))
	}
	return i
}

// registeredBefore looks for a proof that the current Node object is not the first one after the boot. If an earlier
// Node object was deleted, the kubelet created a new one. A proof lies between the boot and the creation of the current
// Node object. A proof is the binding of a pod to the node, or an Event that the kubelet creates only for a registered
// node. registeredBefore returns the time of the earliest proof. Without a proof, registeredBefore returns the zero
// time.
func (f *fold) registeredBefore() (proof time.Time) {
	if !f.createdAfterBoot() {
		return time.Time{}
	}
	created := f.controlPlaneInterval(f.createdAt)
	add := func(at interval) {
		if at.earliest.After(f.booted.latest) && at.latest.Before(created.earliest) &&
			(proof.IsZero() || at.latest.Before(proof)) {
			proof = at.latest
		}
	}
	for _, t := range f.startUps {
		if !t.ScheduledAt.IsZero() && t.ReadAt.IsZero() {
			add(boundaryAt(t, t.ScheduledAt))
		}
	}
	for _, event := range f.events {
		if event.Reason != ReasonStarting {
			add(interval{event.At.Add(-eventDelay), event.At, event.At})
		}
	}
	return proof
}

// milestonesReached lists the known milestones of the node's start-up.
func (f *fold) milestonesReached() []Milestone {
	var all []Milestone
	for _, one := range []struct {
		name string
		of   known
	}{{"booted", f.booted}, {"kubelet_started", f.kubelet}, {"registered", f.registered}, {"ready", f.ready},
		{"network_available", f.network}} {
		if one.of.isKnown {
			all = append(all, Milestone{one.name, one.of.at, one.of.earliest, one.of.latest, one.of.sources})
		}
	}
	if f.first != nil && f.first.ready.isKnown {
		r := f.first.ready
		all = append(all, Milestone{"workload_ready", r.at, r.earliest, r.latest, r.sources})
	}
	return all
}

// messages lists the texts that say why the node was not ready, in the order of their arrival. The texts are messages
// of the conditions Ready and NetworkUnavailable. If a message equals the previous message of the same condition,
// messages does not list it again.
func (f *fold) messages() []api.NotReadyRecord {
	var all []api.NotReadyRecord
	latest := map[string]string{} // the latest listed message of each condition
	add := func(condition, message string, at time.Time) {
		if message != "" && message != latest[condition] {
			latest[condition] = message
			all = append(all, api.NotReadyRecord{SeenAt: api.InstantOf(at), Condition: condition, Message: message})
		}
	}
	for _, s := range f.states {
		if !s.ready {
			add("", s.message, s.arrivedAt)
		}
		if s.network != nil && !s.networkAvailable() {
			add(NetworkUnavailable, s.network.Message, s.arrivedAt)
		}
	}
	return all
}

// endPhaseAt adds a phase that starts at f.cursor and ends at the given boundary. If the start-up ends before the
// boundary, the phase ends with the start-up. If the boundary is before f.cursor, the phase has the length zero.
func (f *fold) endPhaseAt(end known, span Span) { f.endPhaseWithin(end, span, -1) }

// endPhaseWithin is like endPhaseAt, but limits the error bound of the phase to mostError. If mostError is negative,
// there is no limit.
func (f *fold) endPhaseWithin(end known, span Span, mostError time.Duration) {
	if !end.isKnown { // an unknown boundary counts as not reached yet
		end = known{interval: exactly(f.now)}
	}
	to := earlierOf(laterOf(f.cursor, end.interval), laterOf(f.cursor, f.end))
	length, err := between(f.cursor, to)
	if mostError >= 0 {
		err = min(err, mostError)
	}
	if span.Cause == "" {
		span.Cause = rowOf(span.Phase).cause
	}
	span.StartAt, span.EndAt, span.Error = f.cursor.at, to.at, err
	span.Sources = mergeSources(f.sources, end.sources)
	span.Open = f.open && !to.at.Before(f.now)
	// The timeline omits a phase that certainly took no time.
	if length > 0 || to.latest.After(f.cursor.earliest) && f.cursor.at.Before(f.end.at) && end.isKnown {
		f.append(span)
	}
	f.cursor, f.sources = to, end.sources
}

// append adds a span. If the new span and the last span have the same phase, cause, pod, taint and candidates, and if
// neither has a step, append merges the two spans.
func (f *fold) append(s Span) {
	if n := len(f.spans); n > 0 {
		last := &f.spans[n-1]
		if last.Phase == s.Phase && last.Cause == s.Cause && last.Step == s.Step && last.Pod == s.Pod &&
			last.Taint == s.Taint && slices.Equal(last.Candidates, s.Candidates) && s.Step == "" {
			last.EndAt, last.Error, last.Open = s.EndAt, last.Error+s.Error, s.Open
			last.Sources = mergeSources(last.Sources, s.Sources)
			return
		}
	}
	f.spans = append(f.spans, s)
}

func mergeSources(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// boundaryAt returns the earliest and the latest possible time of an instant in a pod's timeline. If the instant is the
// time of a milestone, the result is the interval of this milestone. If several milestones have this time, the result
// covers all their intervals. If no milestone has this time, the true time can be anywhere between the beginning and
// the end of the pod's start-up.
func boundaryAt(t timeline.Timeline, at time.Time) interval {
	all, found := exactly(at), false
	for _, m := range t.Milestones {
		if m.At.Equal(at) && !m.Earliest.IsZero() && !m.Latest.IsZero() {
			all.earliest, all.latest, found = earlier(all.earliest, m.Earliest), later(all.latest, m.Latest), true
		}
	}
	if found {
		return all
	}
	end := t.SettledAt
	if end.IsZero() {
		end = t.CreatedAt.Add(t.Total)
	}
	return interval{earlier(at, t.CreatedAt.Add(-t.TotalError)), later(at, end.Add(t.TotalError)), at}
}
