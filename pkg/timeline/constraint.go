package timeline

import (
	"fmt"
	"time"
)

const (
	// eventSlack limits the time between a fact and the kubelet's Event about the fact. The kubelet creates the
	// Event in the same function, so this time is the scheduling delay of a thread. The delay was 34 ms on a node
	// with three times as much work as cores.
	eventSlack = instant(100 * time.Millisecond)
	// answerDelay limits the time between the runtime's answer and the kubelet's Event about this answer. The answer
	// crosses a socket and two threads of the kubelet before the kubelet stops its own clock. So a duration in the
	// kubelet's message includes this delay. The delay was 105 ms on a node with several times as much work as cores.
	answerDelay = instant(250 * time.Millisecond)
	// liveSlack is the maximum time in which an open watch delivers a new fact. If an observation arrives at most
	// liveSlack after the second of its truncated timestamp, the end of that second is the best estimate.
	liveSlack = instant(100 * time.Millisecond)
	// durationSlack is the maximum time by which a duration from the kubelet exceeds the step that it measures, in
	// addition to answerDelay. The duration of a pull includes a request for the image's size. The duration that
	// includes the wait begins a moment after the Event.
	durationSlack = 10 * time.Millisecond
)

// origin is the kind of evidence that a constraint comes from. If constraints contradict each other, the
// constraint with the lower origin wins.
type origin uint8

const (
	originRuntime       origin = iota // the runtime's nanosecond timestamp
	originStore                       // a timestamp in containerd's stores
	originEventName                   // the nanoseconds in an Event's name
	originEventDuration               // a monotonic duration in the kubelet's message
	originEventSecond                 // an Event's timestamp, truncated to seconds
	originStatus                      // the kubelet's timestamp in the pod object, truncated to seconds
	originEventArrival                // when an Event arrived
	originArrival                     // when the pod object arrived
	// originControlPlane is a truncated timestamp of the control plane's clock in the pod object.
	originControlPlane
)

var originSources = [...]Source{
	originRuntime: SourceCRI, originStore: SourceContainerd, originEventName: SourceEventWatch,
	originEventDuration: SourceEventWatch, originEventSecond: SourceEventWatch,
	originStatus: SourcePodWatch, originEventArrival: SourceEventWatch, originArrival: SourcePodWatch,
	originControlPlane: SourcePodWatch,
}

func (o origin) source() Source { return originSources[o] }

// originNames distinguishes the origins of the same source.
var originNames = [...]string{
	originRuntime:       "stamp",
	originStore:         "stamp",
	originEventName:     "Event's name",
	originEventDuration: "kubelet's duration",
	originEventSecond:   "kubelet's stamp",
	originStatus:        "kubelet's stamp",
	originEventArrival:  "arrival",
	originArrival:       "arrival",
	originControlPlane:  "control plane's stamp",
}

func (o origin) String() string { return fmt.Sprintf("%s (%s)", o.source(), originNames[o]) }

// lean is the most likely position of the instant inside the interval of a constraint.
type lean uint8

const (
	leanNone     lean = iota // anywhere
	leanLatest               // just before the end, because the observation arrived live
	leanEarliest             // at the start, because the sender of a request took its timestamp first
	leanSlack                // eventSlack before the end, because a live Event announces the kubelet's next step
)

// podWide is the container index for milestones of the whole pod.
const podWide = int16(-1)

// milestoneKey identifies one milestone of one pod.
type milestoneKey struct {
	container int16
	attempt   uint16
	milestone Milestone
}

// rank returns a number that orders keys by container, then milestone, then attempt.
func (k milestoneKey) rank() uint64 {
	return uint64(k.container+1)<<24 | uint64(k.milestone)<<16 | uint64(k.attempt)
}

// constraint is the interval in which one origin places a milestone. The interval includes its two ends and
// contains the true instant.
type constraint struct {
	key              milestoneKey
	origin           origin
	lean             lean
	earliest, latest instant
}

func point(k milestoneKey, o origin, t time.Time) constraint {
	return constraint{key: k, origin: o, earliest: at(t), latest: at(t)}
}

// The function second returns the constraint of a timestamp that was truncated to seconds.
func second(k milestoneKey, o origin, t time.Time) constraint {
	from := at(t)
	return constraint{key: k, origin: o, earliest: from, latest: from + instant(time.Second) - 1}
}

// arrivalConstraint returns an upper bound, because a milestone happens before its observation arrives.
func arrivalConstraint(k milestoneKey, o origin, t time.Time, live bool) constraint {
	c := constraint{key: k, origin: o, earliest: minInstant, latest: at(t)}
	if live {
		c.lean = leanLatest
	}
	return c
}

// betterThan reports whether c is preferred to d, a constraint of the same origin on the same milestone. The interval
// with the earlier end wins, because the first report counts. The order is total, so the order of arrival does not
// change the result.
func (c constraint) betterThan(d constraint) bool {
	if c.latest != d.latest {
		return c.latest < d.latest
	}
	if c.earliest != d.earliest {
		return c.earliest > d.earliest
	}
	return c.lean > d.lean
}

// searchConstraints returns the index of the first constraint whose key is at or after k. The constraints must
// be sorted. bounds.search does the same for bounds.
func searchConstraints(constraints []constraint, k milestoneKey) int {
	rank, low, high := k.rank(), 0, len(constraints)
	for low < high {
		if middle := (low + high) / 2; constraints[middle].key.rank() < rank {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}
