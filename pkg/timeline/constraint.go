package timeline

import (
	"fmt"
	"time"
)

const (
	// eventSlack bounds how long the kubelet takes from the thing that happened to the Event that tells of
	// it: both are in the same function, so it is the time to be scheduled, 34 ms on a node with three
	// times as much to do as it has cores.
	eventSlack = instant(100 * time.Millisecond)
	// liveSlack is how long after the fact news of it comes through a running watch. If that is just after a
	// floored stamp's second, the second's end is the best estimate.
	liveSlack = instant(100 * time.Millisecond)
	// durationSlack is what the kubelet's lengths hold beside what they are taken for: the one of a pull
	// also asks for the image's size, the one with the wait begins a moment after the Event.
	durationSlack = 10 * time.Millisecond
)

// origin is how a claim came about. Lower is trusted more where claims contradict each other.
type origin uint8

const (
	originRuntime       origin = iota // a runtime's nanosecond stamp
	originStore                       // a stamp in containerd's stores
	originEventName                   // the nanoseconds in an Event's name
	originEventDuration               // a monotonic duration in the kubelet's message
	originEventSecond                 // an Event's floored stamp
	originStatus                      // the kubelet's floored stamp in the pod object
	originEventArrival                // when an Event arrived
	originArrival                     // when the pod object arrived
	originControlPlane                // the control plane's floored stamp in the pod object: of another clock
)

var originSources = [...]Source{
	originRuntime: SourceCRI, originStore: SourceContainerd, originEventName: SourceEventWatch,
	originEventDuration: SourceEventWatch, originEventSecond: SourceEventWatch,
	originStatus: SourcePodWatch, originEventArrival: SourceEventWatch, originArrival: SourcePodWatch,
	originControlPlane: SourcePodWatch,
}

func (o origin) source() Source { return originSources[o] }

// originNames are what each origin adds to its source's name, of which a source may have several.
var originNames = [...]string{
	originRuntime: "stamp", originStore: "stamp", originEventName: "Event's name", originEventDuration: "kubelet's duration",
	originEventSecond: "kubelet's stamp", originStatus: "kubelet's stamp", originEventArrival: "arrival", originArrival: "arrival",
	originControlPlane: "control plane's stamp",
}

func (o origin) String() string { return fmt.Sprintf("%s (%s)", o.source(), originNames[o]) }

// lean says where in its interval a claim's instant most likely lies.
type lean uint8

const (
	leanNone     lean = iota // anywhere
	leanLatest               // just before the end: news that arrived live
	leanEarliest             // at the start: a request whose stamp is taken first
	leanSlack                // eventSlack before the end: live news of what the kubelet was about to do
)

// podWide is the container index of marks of the whole pod.
const podWide = int16(-1)

// markKey names one mark of one pod.
type markKey struct {
	container int16
	attempt   uint16
	mark      Mark
}

// rank orders keys by container, mark and attempt, in one comparison.
func (k markKey) rank() uint64 {
	return uint64(k.container+1)<<24 | uint64(k.mark)<<16 | uint64(k.attempt)
}

// constraint is what one origin says of a mark: an interval, both ends included, that holds the instant.
type constraint struct {
	key              markKey
	origin           origin
	lean             lean
	earliest, latest instant
}

func point(k markKey, o origin, t time.Time) constraint {
	return constraint{key: k, origin: o, earliest: at(t), latest: at(t)}
}

// second is a stamp that was floored to a second.
func second(k markKey, o origin, t time.Time) constraint {
	from := at(t)
	return constraint{key: k, origin: o, earliest: from, latest: from + instant(time.Second) - 1}
}

// arrival is an upper bound: the mark was in the past when the news of it came.
func arrival(k markKey, o origin, t time.Time, live bool) constraint {
	c := constraint{key: k, origin: o, earliest: minInstant, latest: at(t)}
	if live {
		c.lean = leanLatest
	}
	return c
}

// better says whether c tells more than d, a claim of the same origin about the same mark. The first
// time that something was seen is the one that counts, so the earlier end wins; the order is total,
// which makes keeping the better of two claims independent of the order they came in.
func (c constraint) better(d constraint) bool {
	if c.latest != d.latest {
		return c.latest < d.latest
	}
	if c.earliest != d.earliest {
		return c.earliest > d.earliest
	}
	return c.lean > d.lean
}

// searchConstraints is the place of the first of sorted claims whose mark is not before the key, as bounds.from is of bounds.
func searchConstraints(constraints []constraint, k markKey) int {
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
