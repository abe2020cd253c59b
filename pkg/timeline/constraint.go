package timeline

import (
	"fmt"
	"time"
)

const (
	// eventSlack bounds the time from a fact to the kubelet's Event about it. Both are in the same function, so it
	// is the scheduling delay of a thread: 34 ms on a node with three times as much work as cores.
	eventSlack = instant(100 * time.Millisecond)
	// liveSlack is how long after the fact a running watch delivers it. If an event arrives within this time after the
	// second of its truncated timestamp, the end of that second is the best estimate.
	liveSlack = instant(100 * time.Millisecond)
	// durationSlack is how much longer the kubelet's durations are than their names suggest: the duration of a pull
	// includes a request for the image's size, and the one with the wait begins a moment after the Event.
	durationSlack = 10 * time.Millisecond
)

// origin is the kind of evidence that a constraint comes from. If constraints contradict each other, the one with the
// lower origin is trusted.
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
	originControlPlane                // the control plane's truncated timestamp in the pod object, from another clock
)

var originSources = [...]Source{
	originRuntime: SourceCRI, originStore: SourceContainerd, originEventName: SourceEventWatch,
	originEventDuration: SourceEventWatch, originEventSecond: SourceEventWatch,
	originStatus: SourcePodWatch, originEventArrival: SourceEventWatch, originArrival: SourcePodWatch,
	originControlPlane: SourcePodWatch,
}

func (o origin) source() Source { return originSources[o] }

// originNames distinguishes the origins of one source.
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

// lean says where in its interval the instant of a constraint most likely lies.
type lean uint8

const (
	leanNone     lean = iota // anywhere
	leanLatest               // just before the end: the observation arrived live
	leanEarliest             // at the start: a request whose timestamp is taken first
	leanSlack                // eventSlack before the end: a live Event about something that the kubelet was about to do
)

// podWide is the container index of the milestones of the whole pod.
const podWide = int16(-1)

// milestoneKey names one milestone of one pod.
type milestoneKey struct {
	container int16
	attempt   uint16
	milestone Milestone
}

// rank orders keys by container, milestone and attempt, in one comparison.
func (k milestoneKey) rank() uint64 {
	return uint64(k.container+1)<<24 | uint64(k.milestone)<<16 | uint64(k.attempt)
}

// constraint is the interval that one origin gives for a milestone. It holds the true instant; both ends are included.
type constraint struct {
	key              milestoneKey
	origin           origin
	lean             lean
	earliest, latest instant
}

func point(k milestoneKey, o origin, t time.Time) constraint {
	return constraint{key: k, origin: o, earliest: at(t), latest: at(t)}
}

// second is the constraint of a timestamp that was truncated to seconds.
func second(k milestoneKey, o origin, t time.Time) constraint {
	from := at(t)
	return constraint{key: k, origin: o, earliest: from, latest: from + instant(time.Second) - 1}
}

// arrival is an upper bound: the milestone was in the past when the observation arrived.
func arrival(k milestoneKey, o origin, t time.Time, live bool) constraint {
	c := constraint{key: k, origin: o, earliest: minInstant, latest: at(t)}
	if live {
		c.lean = leanLatest
	}
	return c
}

// better reports whether c is preferred over d, a constraint of the same origin on the same milestone. The first report
// counts, so the earlier end wins. The order is total, so the result of keeping the better one does not depend on
// the order of arrival.
func (c constraint) better(d constraint) bool {
	if c.latest != d.latest {
		return c.latest < d.latest
	}
	if c.earliest != d.earliest {
		return c.earliest > d.earliest
	}
	return c.lean > d.lean
}

// searchConstraints returns the index of the first constraint whose milestone is not before the key, as bounds.search
// does for bounds. The constraints must be sorted.
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
