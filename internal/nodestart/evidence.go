package nodestart

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	// maxStates is the maximum number of states of the Node object that an Evidence keeps. During a start-up, the Node
	// object has about ten states.
	maxStates = 64
	// maxPods is the maximum number of pods that an Evidence keeps. A node has at most 110 pods by default.
	maxPods = 512
	// A list of Events is complete only if the agent received it less than eventsExpire after the boot. By default, the
	// API server deletes Events after one hour.
	eventsExpire = 55 * time.Minute
	// eventDelay is the maximum delay of the kubelet's Events. The kubelet creates an Event at most eventDelay after
	// the instant that the Event reports. The Event's name contains the time when the kubelet created the Event.
	eventDelay = 100 * time.Millisecond
	// The kubelet reports its first status at most firstStatus after it registers the node. Within firstStatus, the
	// kubelet does not change its report from ready to not ready.
	firstStatus = second
	// A node needs more time than justBefore to become ready. If the agent receives a status of this boot less than
	// justBefore after Evidence.absentFrom, the node was not ready before this status.
	justBefore = 5 * second
)

// Evidence holds the known facts about the node's start-up since the last boot. The zero Evidence is empty.
type Evidence struct {
	boot   Booted // boot.ArrivedAt is when the agent first observed this boot
	booted bool
	age    time.Duration // time from the boot until boot.ArrivedAt
	skew   timeline.Skew
	// clockSet is the sum of all changes of the node's clock since the agent first observed this boot. For each change,
	// clockSet contains the size of the change plus the error bound of this size.
	clockSet time.Duration
	setBack  time.Duration // how far the clock was set back in total; never negative

	name      string
	createdAt time.Time // creation of the first Node object that belongs to this boot
	// absentFrom is the time of the latest list request that did not return a Node object of this boot yet.
	absentFrom time.Time
	firstSeen  time.Time // arrival of the first response about the Node object, whatever it contains
	firstStamp time.Time // earliest lastTransitionTime after the boot among the conditions that the kubelet wrote
	states     []state

	events   []Event
	listedAt time.Time

	startUps   map[string]timeline.Timeline
	readyAgain map[string]PodReady
	dropped    bool // some pods were dropped because of maxPods
}

// state describes consecutive versions of the Node object with the same readiness, taints and network condition: see
// hasSameBlockers.
type state struct {
	arrivedAt time.Time // earliest arrival of a version of this state or of a later state, which a list can show first
	lastAt    time.Time // arrival of the latest version of the state
	from, to  uint64    // first and latest resourceVersion of the state; 0 if unknown
	sureAt    time.Time // latest time at which the object certainly had this state; zero if unknown
	ready     bool
	changedAt time.Time // lastTransitionTime of the condition Ready; zero if it is from before the boot
	reasons   reason
	message   string
	taints    []Taint
	network   *Condition // the condition NetworkUnavailable; nil if the object has no such condition
	gap       bool       // states before this state were dropped because of maxStates
}

func (s state) hasSameBlockers(o state) bool {
	return s.ready == o.ready && s.changedAt.Equal(o.changedAt) && s.message == o.message &&
		slices.Equal(s.taints, o.taints) && (s.network == nil) == (o.network == nil) &&
		(s.network == nil || *s.network == *o.network)
}

func (s state) hasTaint(key string) bool {
	return slices.ContainsFunc(s.taints, func(t Taint) bool { return t.Key == key })
}

// networkAvailable reports whether the condition NetworkUnavailable exists and is false.
func (s state) networkAvailable() bool { return s.network != nil && s.network.Status == "False" }

// Observe adds an observation.
func (e *Evidence) Observe(o Observation) {
	switch o := o.(type) {
	case Booted:
		e.observeBoot(o)
	case NodeSeen:
		e.observeNode(o)
	case EventsListed:
		e.events, e.listedAt = slices.Clone(o.Events), o.ArrivedAt
	case StartUpSeen:
		if e.startUps == nil {
			e.startUps = map[string]timeline.Timeline{}
		}
		if _, known := e.startUps[o.Timeline.UID]; known || e.hasRoom() {
			e.startUps[o.Timeline.UID] = o.Timeline
		}
	case PodReady:
		if e.readyAgain == nil {
			e.readyAgain = map[string]PodReady{}
		}
		if _, known := e.readyAgain[o.UID]; !known && e.hasRoom() {
			e.readyAgain[o.UID] = o
		}
	case PodGone:
		// The evidence keeps a deleted pod if the pod became ready. A deleted pod can be the first ready workload pod,
		// which ends the node's start-up.
		if e.startUps[o.UID].State != timeline.StateReady {
			delete(e.startUps, o.UID)
		}
	case SkewSeen:
		e.skew = o.Skew
	}
}

func (e *Evidence) hasRoom() bool {
	if len(e.startUps)+len(e.readyAgain) < maxPods {
		return true
	}
	e.dropped = true
	return false
}

// observeBoot discards the evidence about an earlier boot. If the node's clock is set, the boot time changes, but the
// boot ID does not change. observeBoot does not adjust the times of earlier observations to the new clock, because
// these times usually contain a reading of the monotonic clock. Setting the clock does not change a reading of the
// monotonic clock.
func (e *Evidence) observeBoot(b Booted) {
	another := b.BootID != e.boot.BootID || b.BootID == "" && !b.At.Equal(e.boot.At)
	if e.booted && another {
		*e = Evidence{skew: e.skew}
	}
	if e.booted {
		b.ArrivedAt = e.boot.ArrivedAt
		if change := b.At.Sub(e.boot.At); change != 0 {
			e.clockSet += change.Abs() + b.Resolution
			e.setBack += max(0, -change)
		}
	} else {
		e.age = b.ArrivedAt.Sub(b.At)
	}
	e.boot, e.booted = b, true
}

// isBeforeFirstResponse reports whether an instant was certainly before the agent first received a response about the
// Node object. Without a response, isBeforeFirstResponse compares the instant with the agent's start. If the clock was
// set back between the response and the instant, the clock can show an earlier time for the instant than for the
// response. Therefore, isBeforeFirstResponse subtracts e.setBack from the time of the response or of the agent's start.
func (e *Evidence) isBeforeFirstResponse(at time.Time) bool {
	limit := e.firstSeen
	if limit.IsZero() {
		limit = e.boot.ArrivedAt
	}
	return at.Before(limit.Round(0).Add(-e.setBack)) // Round removes the reading of the monotonic clock
}

func (e *Evidence) observeNode(o NodeSeen) {
	if e.firstSeen.IsZero() {
		e.firstSeen = o.ArrivedAt
	}
	if !e.booted || !o.Exists || !e.describesBoot(o) {
		if len(e.states) == 0 && o.RequestedAt.After(e.absentFrom) {
			e.absentFrom = o.RequestedAt
		}
		return
	}
	if len(e.states) == 0 {
		e.name, e.createdAt = o.Name, o.CreatedAt
	}
	e.addState(e.stateOf(o))
}

// describesBoot reports whether the kubelet wrote the object after the boot.
func (e *Evidence) describesBoot(o NodeSeen) bool {
	if o.BootID != "" && e.boot.BootID != "" {
		return o.BootID == e.boot.BootID
	}
	return !o.CreatedAt.Before(e.boot.At) || slices.ContainsFunc(o.Conditions, func(c Condition) bool {
		return c.isFromKubelet() && !c.ChangedAt.Before(e.boot.At)
	})
}

// isFromKubelet reports whether the kubelet wrote the condition. The node lifecycle controller also writes the
// kubelet's conditions, but only with the status Unknown.
func (c Condition) isFromKubelet() bool {
	switch c.Type {
	case "Ready", "MemoryPressure", "DiskPressure", "PIDPressure":
		return c.Status != "Unknown"
	}
	return false
}

func (e *Evidence) stateOf(o NodeSeen) state {
	s := state{arrivedAt: o.ArrivedAt, lastAt: o.ArrivedAt, from: o.Version, to: o.Version, sureAt: o.RequestedAt,
		reasons: reasonUnknown, taints: slices.Clone(o.Taints)}
	s.taints = slices.DeleteFunc(s.taints, func(t Taint) bool { return t.Effect == "PreferNoSchedule" })
	for _, c := range o.Conditions {
		stamped := !c.ChangedAt.Before(e.boot.At)
		if c.isFromKubelet() && stamped {
			s.sureAt = later(s.sureAt, c.ChangedAt)
			if e.firstStamp.IsZero() || c.ChangedAt.Before(e.firstStamp) {
				e.firstStamp = c.ChangedAt
			}
		}
		switch c.Type {
		case "Ready":
			s.ready = c.Status == "True"
			if stamped {
				s.changedAt = c.ChangedAt
			}
			if !s.ready {
				s.reasons, s.message = reasonsOf(c.Message), c.Message
			}
			if c.Status == "Unknown" {
				s.reasons = reasonUnknown
			}
		case NetworkUnavailable:
			s.network = &c
		}
	}
	if s.sureAt.After(o.ArrivedAt) { // the timestamp is later than the arrival, so a clock was set
		s.sureAt = o.ArrivedAt
	}
	return s
}
