package timeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// Limits of what one pod may make the agent keep. Only a crash loop needs more. Its first attempts are kept, and
// Timeline.Missing says that later ones were dropped.
const (
	maxAttempts   = 16
	maxContainers = 256
	maxFailures   = 16
	// maxNetworkDowns is larger than the number of questions about the network for one pod in an hour; their intervals
	// grow.
	maxNetworkDowns = 256
	// maxUnknownContainers limits the container names that are not in the pod's spec and arrive after the spec:
	// ephemeral containers whose Event comes before the spec. Anyone who may create Events can invent more.
	maxUnknownContainers = 16
)

// constraintGrowth is the number of constraints by which the capacity grows.
const constraintGrowth = 8

// Scope says what the agent can observe and which start-ups it reports.
type Scope struct {
	// Runtime and Events say whether the agent has such a source. Evidence from a missing source is never awaited.
	Runtime bool
	Events  bool
	// Since is the time, on the agent's clock, from which the agent reports every start-up of the node, including
	// those that ended unseen while the agent or the API server was away. Zero: the agent reports only start-ups
	// that it saw.
	Since time.Time
	// ResumedAt is when the agent continued from the state of an earlier process, on the agent's clock. Evidence that
	// was overdue at that time is awaited again, because no agent fetched it in the meantime. Zero: the agent began
	// without state.
	ResumedAt time.Time
}

// Evidence holds everything that is known about one pod's start-up. The same observations give the same evidence in any
// order and any number of times, with one exception: if a pod has more container or image names than are kept, the
// first to arrive are kept. Not safe for concurrent use.
type Evidence struct {
	scope Scope

	pod       Pod // as last seen
	podSeenAt time.Time
	firstSeen sighting
	gone      bool
	waiting   waitingReason

	constraints      []constraint // sorted by key, then by origin; at most one for each pair
	containers       []containerEvidence
	images           []imageEvidence
	obstacleEvents   []obstacleEvent // obstacles to the sandbox according to the kubelet's Events, in order of time
	messages         []EventMessage  // the earliest, in order of time
	ignoreMessages   bool            // Events are not kept as text, because they are not reported
	networkDowns     []instant       // when the runtime said that its network was not ready; the earliest, in order
	networkUp        instant         // when it first said that its network was ready; zero for never
	imageKnown       attempts        // the sandboxes for which the runtime said whether it pulled their image
	unstamped        attempts        // the sandboxes whose timestamps the runtime can never report
	kubelet133       bool            // the kubelet has version 1.33 or later
	generation       int64           // the lowest generation of the spec that was seen; 0 if unknown
	watchFirstOpened time.Time       // when an Event watch was first open
	watchLastOpened  instant         // when the latest Event watch was opened; zero for never
	watchLost        instant         // when an Event watch was last lost; zero for never
	overflow         bool            // something was dropped because of the limits above
	changed          bool            // by the observation that is being applied

	runtimeAskedAt time.Time // of the latest answer

	cached *cachedTimeline // nil if the timeline must be folded
}

// attempts is a set of the first 64 attempts.
type attempts uint64

func (a attempts) with(attempt uint16) attempts { return a | 1<<attempt } // no effect for a later attempt

func (a attempts) has(attempt uint16) bool { return a&(1<<attempt) != 0 }

// sighting is the agent's first sight of the pod.
type sighting struct {
	at   time.Time
	live bool
	over bool // the start-up was already over
	new  bool // the kubelet had not reported on it yet
}

// waitingReason is the kubelet's reason why a container waits, and when the pod object reported it.
type waitingReason struct {
	at     instant
	reason string
}

func (w waitingReason) compare(o waitingReason) int {
	return cmp.Or(cmp.Compare(w.at, o.at), cmp.Compare(w.reason, o.reason))
}

// containerEvidence holds what is known about one container, apart from constraints.
type containerEvidence struct {
	name     string
	image    string // as last parsed, with its registry
	registry string
	pulled   pulledEvent // the first Event that says that the image is present
	// laterPulled are further such Events, in order of time.
	laterPulled []pulledEvent
	failures    []failureEvent
	// requested is when the kubelet requested the first pull, by its Events. inspected holds the times at which the
	// runtime did not say whether it has the image. Both are in order of time. There is more than one only if the
	// kubelet restarted or Events were forged.
	requested, inspected []window
	// statusFailure is the first status that reports a failed pull; nil if there was none.
	statusFailure *failureEvent
	// statusReasons are the reasons of failed pulls in the pod's statuses, each once. There are only a few different
	// ones.
	statusReasons []imagepull.Failure
	// firstImage is the image in the first spec seen. Once the image changes, a status may be about either image.
	firstImage   string
	imageChanged bool
	exits        []exit
	overflow     bool // some of its attempts were not kept
	refused      refusals
	notConfig    bool // the kubelet could not create the container for a reason other than its configuration
}

// refusals is the Event that says that the kubelet could not create the container: its first and its latest
// occurrence, and their number.
type refusals struct {
	first, last window
	count       int
}

// exit is how one run of a container ended.
type exit struct{ attempt, code int }

// NewEvidence returns empty evidence.
func NewEvidence(scope Scope) *Evidence { return &Evidence{scope: scope} }

// PodSeen reports whether a pod object was seen. Without one there is nothing to fold.
func (e *Evidence) PodSeen() bool { return !e.podSeenAt.IsZero() }

// Reconstructed is the value of Timeline.Reconstructed.
func (e *Evidence) Reconstructed() bool { return e.beforeAgent() }

// Pod is the pod object as last seen.
func (e *Evidence) Pod() Pod { return e.pod }

func compareConstraints(a, b constraint) int {
	return cmp.Compare(a.key.rank()<<8|uint64(a.origin), b.key.rank()<<8|uint64(b.origin))
}

// constrain keeps the better of a new constraint and the known one of the same origin.
func (e *Evidence) constrain(c constraint) {
	if c.key.attempt >= maxAttempts {
		e.markOverflow()
		if c.key.container != podWide {
			of := &e.containers[c.key.container]
			e.changed = e.changed || !of.overflow
			of.overflow = true
		}
		return
	}
	i := searchConstraints(e.constraints, c.key)
	for i < len(e.constraints) && e.constraints[i].key == c.key && e.constraints[i].origin < c.origin {
		i++
	}
	switch {
	case i == len(e.constraints) || e.constraints[i].key != c.key || e.constraints[i].origin != c.origin:
		// Grow by a few at a time, because doubling would leave half of the capacity unused.
		if len(e.constraints) == cap(e.constraints) {
			e.constraints = append(make([]constraint, 0, len(e.constraints)+constraintGrowth), e.constraints...)
		}
		e.constraints = slices.Insert(e.constraints, i, c)
	case c.better(e.constraints[i]):
		e.constraints[i] = c
	default:
		return
	}
	e.changed = true
}

// markOverflow records that something was dropped. Only the first time is a change.
func (e *Evidence) markOverflow() {
	e.changed = e.changed || !e.overflow
	e.overflow = true
}

// indexNear is indexOf for a container that is most likely at i.
func (e *Evidence) indexNear(i int, container string) int16 {
	if i < len(e.containers) && e.containers[i].name == container {
		return int16(i)
	}
	return e.indexOf(container)
}

// indexOf returns the index of a container's evidence; podWide if there is none.
func (e *Evidence) indexOf(container string) int16 {
	for i := range e.containers {
		if e.containers[i].name == container {
			return int16(i)
		}
	}
	return podWide
}

// container finds or adds the container's evidence. It returns nil if the pod has too many names.
func (e *Evidence) container(name string) (int16, *containerEvidence) {
	if i := e.indexOf(name); i != podWide {
		return i, &e.containers[i]
	}
	if len(e.containers) == maxContainers || e.PodSeen() && !e.pod.has(name) &&
		e.unknownContainers() >= maxUnknownContainers {
		e.markOverflow()
		return podWide, nil
	}
	e.changed = true
	e.containers = append(e.containers, containerEvidence{name: name})
	return int16(len(e.containers) - 1), &e.containers[len(e.containers)-1]
}

// unknownContainers counts the names that are not in the pod's spec as last seen.
func (e *Evidence) unknownContainers() int {
	n := 0
	for i := range e.containers {
		if !e.pod.has(e.containers[i].name) {
			n++
		}
	}
	return n
}

// registryOf parses a reference once, because nothing else in a fold costs as much.
func (c *containerEvidence) registryOf(image string) string {
	if c.image != image {
		c.image, c.registry = image, imagepull.Registry(image)
	}
	return c.registry
}

// Apply adds an observation. The caller must not pass observations about other pods. Apply reports whether the
// evidence changed: if not, only the latest pod object and the time of the latest question to the runtime may
// differ.
func (e *Evidence) Apply(o Observation) (changed bool) {
	e.changed = false
	switch o := o.(type) {
	case PodSeen:
		e.applyPod(o)
	case PodGone:
		e.changed = e.changed || !e.gone
		e.gone = true
		e.constrain(arrival(podMilestone(MilestoneDeleted), originArrival, o.ArrivedAt, o.Live))
	case EventSeen:
		e.applyEvent(o)
	case EventsWatched:
		if e.watchFirstOpened.IsZero() || o.OpenedAt.Before(e.watchFirstOpened) {
			e.watchFirstOpened, e.changed = o.OpenedAt, true
		}
		if opened := at(o.OpenedAt); opened > e.watchLastOpened {
			e.watchLastOpened, e.changed = opened, true
		}
	case EventsLost:
		if lost := at(o.ArrivedAt); lost > e.watchLost {
			e.watchLost, e.changed = lost, true
		}
	case RuntimeSeen:
		e.applyRuntime(o)
	}
	if _, seen := o.(PodSeen); seen || e.changed {
		e.cached = nil
	}
	return e.changed
}

func podMilestone(m Milestone) milestoneKey { return milestoneKey{container: podWide, milestone: m} }
