package timeline

import (
	"fmt"
	"slices"
	"time"
)

const (
	// eventSlack is the maximum time between a step of the kubelet and the kubelet's Event about this step. The kubelet
	// creates the Event in the function that performs the step. So the Event is late only if a thread waits for the
	// CPU. On a node whose load was three times its number of cores, an Event was delayed by 34 ms.
	eventSlack = instant(100 * time.Millisecond)
	// responseDelay is the maximum time between the runtime's response and the kubelet's Event about this response. The
	// kubelet measures a duration for its message. The response passes through a socket and two threads of the kubelet
	// before the kubelet stops this measurement. So the duration in the message includes the delay of the response. On
	// a node whose load was several times its number of cores, a response was delayed by 105 ms.
	responseDelay = instant(250 * time.Millisecond)
	// liveSlack is the maximum time that an open watch needs to deliver a change. A timestamp that is truncated to
	// seconds gives an interval of one second. If an observation arrives at most liveSlack after the end of this
	// interval, the end of the interval is the best estimate.
	liveSlack = instant(100 * time.Millisecond)
	// durationSlack is the maximum difference between the duration in a kubelet message and the true duration of the
	// step. This difference does not include responseDelay. The duration of a pull includes the kubelet's request for
	// the image's size. A duration can also include the wait in the pull queue. The measurement of a duration with this
	// wait begins shortly after the Pulling Event.
	durationSlack = 10 * time.Millisecond
)

// origin is the kind of evidence behind a constraint. If two constraints contradict each other, the constraint with the
// more trusted origin wins. The constants below begin with the most trusted origin.
type origin uint8

const (
	originRuntime       origin = iota // the runtime's nanosecond timestamp
	originStore                       // a timestamp in containerd's stores
	originEventName                   // the nanoseconds in an Event's name
	originEventDuration               // a duration in the kubelet's message, from a monotonic clock
	originEventSecond                 // an Event's timestamp, truncated to seconds
	originStatus                      // the kubelet's timestamp in the pod object, truncated to seconds
	originEventArrival                // the arrival time of an Event
	originArrival                     // the arrival time of the pod object
	// originControlPlane is a timestamp in the pod object from the control plane's clock, truncated to seconds.
	originControlPlane
)

var originSources = [...]Source{
	originRuntime: SourceCRI, originStore: SourceContainerd, originEventName: SourceEventWatch,
	originEventDuration: SourceEventWatch, originEventSecond: SourceEventWatch,
	originStatus: SourcePodWatch, originEventArrival: SourceEventWatch, originArrival: SourcePodWatch,
	originControlPlane: SourcePodWatch,
}

func (o origin) source() Source { return originSources[o] }

// originNames contains a name for each origin. Different origins of the same source have different names.
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

// A bias states which position in a constraint's interval is the most likely position of the true instant.
type bias uint8

const (
	// Every position in the interval is equally likely.
	biasNone bias = iota
	// The instant is probably at the end of the interval. For example, a live observation arrives only milliseconds
	// after the change that it reports.
	biasLatest
	// The instant is probably at the start of the interval, for example because the kubelet takes its timestamp just
	// before the step.
	biasEarliest
	// The interval ends eventSlack after the arrival of a live Event, because the kubelet creates the Event just before
	// the step. The best estimate is the arrival time, which is the end of the interval minus eventSlack.
	biasSlack
	// The kubelet reports the step only at its next sync. So the best estimate is the end of the interval minus
	// usualSync, the average delay of this report.
	biasNextSync
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

// constraint is the interval of time that contains a milestone, according to one origin. The interval includes its two
// ends.
type constraint struct {
	key              milestoneKey
	origin           origin
	bias             bias
	earliest, latest instant
}

func point(k milestoneKey, o origin, t time.Time) constraint {
	return constraint{key: k, origin: o, earliest: at(t), latest: at(t)}
}

// second returns the constraint of a timestamp that was truncated to seconds.
func second(k milestoneKey, o origin, t time.Time) constraint {
	from := at(t)
	return constraint{key: k, origin: o, earliest: from, latest: from + instant(time.Second) - 1}
}

// arrivalConstraint returns a constraint that ends at the arrival time of an observation from the pod watch. A
// milestone happens before its observation arrives.
func arrivalConstraint(k milestoneKey, t time.Time, live bool) constraint {
	return arrivalWindow(t, live).constraint(k)
}

// betterThan reports whether the evidence keeps the constraint c instead of the constraint d. Both constraints must
// have the same origin and the same milestone. The constraint with the earlier end wins, because the first report of a
// milestone is the most precise report. betterThan is a total order, so the order of arrival does not change the
// evidence.
func (c constraint) betterThan(d constraint) bool {
	if c.latest != d.latest {
		return c.latest < d.latest
	}
	if c.earliest != d.earliest {
		return c.earliest > d.earliest
	}
	return c.bias > d.bias
}

// findArrival returns the constraint from the pod object that first reported the milestone. The constraints must be
// sorted by key, then by origin.
func findArrival(constraints []constraint, k milestoneKey) (c constraint, found bool) {
	i, found := slices.BinarySearchFunc(constraints, constraint{key: k, origin: originArrival}, compareConstraints)
	if !found {
		return constraint{}, false
	}
	return constraints[i], true
}

// searchConstraints returns the index of the first constraint whose key is equal to k or comes after k. The constraints
// must be sorted by key.
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
