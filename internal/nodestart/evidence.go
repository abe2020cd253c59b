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
	// eventsExpire is shorter than one hour, the time after which the API server deletes Events by default.
	eventsExpire = 55 * time.Minute
	// eventDelay is the longest time between an instant and the creation of the kubelet's Event about this instant. The
	// Event's name contains the time of its creation.
	eventDelay = 100 * time.Millisecond
	// firstStatus is the longest time between the registration and the kubelet's first status. Within firstStatus after
	// the registration, the kubelet does not change its report from ready to not ready.
	firstStatus = second
	// justBefore is shorter than the time that a node needs to become ready. So if a status of this boot arrives within
	// justBefore after absentFrom, the node was not ready between the boot and this status.
	justBefore = 5 * second
)

// Evidence holds the known facts about the node's start-up since the last boot. The zero Evidence is empty.
type Evidence struct {
	boot   Booted // boot.ArrivedAt is when the agent first observed this boot
	booted bool
	age    time.Duration // time from the boot until boot.ArrivedAt
	skew   timeline.Skew
	// clockSet is 0 when the agent first observes this boot. Each time that the node's clock is set, clockSet grows by
	// the size of the step and by the error bound of this size.
	clockSet time.Duration
	setBack  time.Duration // the sum of the steps that set the clock back; never negative

	name      string
	createdAt time.Time // creation of the first Node object that belongs to this boot
	// absentFrom is the time of the latest list request whose response did not contain a Node object of this boot yet.
	absentFrom time.Time
	firstSeen  time.Time // arrival of the first Node object, even if it is from before the boot
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
	arrivedAt time.Time // first arrival of a version of this state, or of a newer version
	lastAt    time.Time // arrival of the latest version of the state
	from, to  uint64    // the first and the latest version; 0 if unknown
	sureAt    time.Time // latest time for which a list or a timestamp proves the state; zero without a proof
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
		// A pod that became ready is kept after its deletion, because it can be the first workload pod, which ends the
		// node's start-up.
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

// observeBoot discards the evidence about an earlier boot. Setting the clock changes the boot time, but not the boot
// ID. observeBoot does not adjust the times of earlier observations to the new clock, because these times usually
// contain a reading of the monotonic clock. Setting the clock does not change a reading of the monotonic clock.
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
// set back, the instant can be a time of the new clock, and the response can have a time of the old clock. Therefore,
// isBeforeFirstResponse subtracts the steps that set the clock back (e.setBack) from the time of the response or of the
// agent's start.
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

// isFromKubelet reports whether the kubelet wrote the condition. The node lifecycle controller writes only the status
// Unknown to the kubelet's conditions.
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
