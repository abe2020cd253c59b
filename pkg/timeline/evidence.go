package timeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// These limits bound the memory for the evidence about one pod. Crash loops, long outages and forged Events can exceed
// these limits. If a pod exceeds a limit, the evidence keeps the earliest facts. Timeline.Missing shows whether the
// evidence dropped attempts, containers or images.
const (
	maxAttempts   = 16
	maxContainers = 256
	maxFailures   = 16
	// maxNetworkDowns limits the length of Evidence.networkDowns. For each pod, the agent asks about the network less
	// and less often, so it never reaches this limit.
	maxNetworkDowns = 256
	// maxUnknownContainers limits the containers in the evidence that the pod's latest spec does not contain. For
	// example, an ephemeral container's Event can arrive before the spec that contains the container. Anyone who can
	// create Events can also invent container names.
	maxUnknownContainers = 16
)

// If Evidence.constraints is full, its capacity grows by constraintGrowth entries.
const constraintGrowth = 8

// Scope states which sources the agent has, and which start-ups the agent reports.
type Scope struct {
	// Runtime is true if the agent can query the container runtime. Events is true if the agent can watch Events. The
	// agent never waits for evidence from a missing source.
	Runtime bool
	Events  bool
	// Since is a time on the agent's clock. The agent reports the start-up of every pod that reached the node after
	// Since. The agent reports such a start-up even if it ended while the agent or the API server was unavailable. If
	// Since is zero, the agent reports only start-ups that it saw in progress.
	Since time.Time
	// ResumedAt is the time at which the agent loaded the state of an earlier agent process. It is a time on the
	// agent's clock. While no agent runs, nothing requests evidence. So at ResumedAt, the agent begins again to wait
	// for overdue evidence. If ResumedAt is zero, the agent started without state.
	ResumedAt time.Time
}

// Evidence holds all known facts about one pod's start-up. The same observations produce the same evidence, even if
// they arrive in a different order or more than once. The order matters only if a pod has more containers or images
// than the limits allow: Evidence then keeps the names that arrive first. Evidence is not safe for concurrent use.
type Evidence struct {
	scope Scope

	pod       Pod // the latest pod object
	podSeenAt time.Time
	firstSeen firstSighting
	gone      bool
	waiting   waitingReason

	constraints    []constraint // sorted by key, then by origin; at most one for each key and origin
	containers     []containerEvidence
	images         []imageEvidence
	obstacleEvents []obstacleEvent // the kubelet's Events about obstacles to the sandbox, in order of time
	countedEvents  []countedEvent  // at most spamLimit Events
	otherRuns      int             // the number of runs of the containers that EphemeralEvidence leaves out
	messages       []EventMessage  // the earliest kubelet Events, in order of time
	ignoreMessages bool            // if true, the evidence drops the texts of Events, because no output uses the texts
	// networkDowns lists the times at which the runtime reported that its network was not ready, in ascending order.
	// The list keeps the earliest maxNetworkDowns times.
	networkDowns     []instant
	networkUp        instant    // the time of the runtime's first report that its network was ready, or zero
	imageKnown       attemptSet // the sandboxes whose field ImageKnown is true, and the sandboxes in imageFirst
	unstamped        attemptSet // the sandboxes for which the runtime can never report all timestamps
	stopped          attemptSet // the sandboxes that the runtime reported as not ready
	stoppedAt        instant    // the first request whose response reports the last sandbox in the set "stopped"
	imageFirst       attemptSet // the sandboxes whose ImageFirst is true and whose BegunAt and NetworkReadyAt are known
	imageStored      instant    // the latest ImageStoredAt of the sandboxes in imageFirst; maxInstant if any is unknown
	networkFirst     bool       // see RuntimeSeen.NetworkFirst
	kubelet133       bool       // the kubelet has version 1.33 or later
	boundByCreator   bool       // the creator of the pod set the node: see Pod.boundByCreator
	generation       int64      // the lowest observed generation of the spec; 0 if unknown
	watchFirstOpened time.Time  // the time when the first Event watch opened, or zero
	lastEventAt      instant    // the latest possible time of the latest Event
	watchFirstSince  instant    // EventsWatched.Since of the first Event watch; zero if no Events are missing
	watchLastOpened  watchPoint // when the latest Event watch opened, or zero
	watchLost        watchPoint // when the agent last lost an Event watch, or zero
	watchLimited     watchPoint // the latest EventsLost whose field Limited is true; zero if there was none
	watchSince       instant    // EventsWatched.Since of the latest Event watch; zero if no Events are missing
	historyLimited   bool       // EventsWatched.Limited of the latest Event watch
	overflow         bool       // the evidence dropped attempts, containers or images, because the pod exceeded a limit
	changed          bool       // the current observation changed the evidence

	readyTimes []readyTime // when all containers became ready, in order of time; the earliest maxReadyTimes times
	clock      ClockLog    // the known changes of the node's clock

	runtimeQueriedAt time.Time // when the agent sent the request for the runtime's latest response

	cached *cachedTimeline // nil if the timeline must be computed again
}

// attemptSet is a set of attempts with numbers from 0 to 63.
type attemptSet uint64

// The method "with" returns a copy of the set that also contains the attempt. It ignores attempts above 63.
func (a attemptSet) with(attempt uint16) attemptSet { return a | 1<<attempt }

func (a attemptSet) has(attempt uint16) bool { return a&(1<<attempt) != 0 }

// firstSighting is the agent's first observation of the pod.
type firstSighting struct {
	at   time.Time
	live bool
	over bool // the start-up was already over
	new  bool // the kubelet had not reported the pod's status yet
}

// waitingReason is the reason that a pod object reports for a waiting container. The field "at" is the arrival time of
// the pod object.
type waitingReason struct {
	at     instant
	reason string
}

func (w waitingReason) compare(o waitingReason) int {
	return cmp.Or(cmp.Compare(w.at, o.at), cmp.Compare(w.reason, o.reason))
}

// containerEvidence holds the facts about one container, except constraints.
type containerEvidence struct {
	name     string
	image    string      // the latest image reference that registryOf parsed
	registry string      // the registry of the image in the field "image"
	pulled   pulledEvent // the first Event that reports that the image is present
	// presentCount is the largest number of times that one Event reports that the image was already present.
	presentCount uint16
	// laterPulled holds all other Events that report that the image is present, in order of time.
	laterPulled []pulledEvent
	failures    []failureEvent
	// For each Pulling Event, the list "requested" holds the time of the kubelet's first pull request. The list
	// "misnamed" holds the times at which the kubelet could not parse the image's name. The list "inspected" holds the
	// times at which the runtime could not report whether the image is present. All lists are in order of time. A list
	// has more than one entry only if the kubelet restarted, the container's image changed, or somebody forged Events.
	requested           []requestEvent
	misnamed, inspected []window
	// statusFailure is the first status that reports a failed pull; nil if there was none.
	statusFailure *failureEvent
	// failedBeforeRun is true if statusFailure is from a status before the container's first run.
	failedBeforeRun bool
	pullStatuses    []pullStatus // the earliest entries, in order of time
	// statusGapAt is the arrival time of the latest waiting status that might follow a restart of the kubelet. After a
	// restart, the kubelet reports no failed pull until it tries the pull again. A waiting status from a list counts
	// too, because the agent can have missed earlier statuses.
	statusGapAt instant
	firstRun    firstRun
	// statusReasons lists the reasons of failed pulls in the pod's statuses, without duplicates. Only a few reasons are
	// possible.
	statusReasons []imagepull.Failure
	images        []observedImage // the images in the observed specs, in alphabetical order; at most maxImages
	exits         []runExit
	overflow      bool // some attempts of the container were dropped
	refused       refusals
	refusedAt     []window // the first Event about a failure to create the container; at most one entry
	refusal       uint64   // textHash of the error in an Event about a failed creation; zero if there was none
	// refusalsDiffer is true if the Events about failures to create the container report different errors.
	refusalsDiffer bool
	// A refusal is a failure of the kubelet to create the container. misconfiguredAt is the time of the latest refusal
	// whose error proves that the container's configuration is wrong. otherRefusalAt is the time of the latest refusal
	// with any other error. A zero instant means that there was no refusal of this kind.
	misconfiguredAt, otherRefusalAt instant
	failedChecks                    refusals // Events about an image that the kubelet could not check before a pull
	runs                            int      // the highest number of recent runs; see keepRuns
}

// refusals holds the first occurrence, the latest occurrence and the count of one Event. The Event reports that the
// kubelet could not create the container, or could not check its image.
type refusals struct {
	first, last window
	count       int
}

// runExit holds the exit code of one run of a container, and the first report of the back-off after the run.
type runExit struct {
	attempt, code int
	outOfMemory   bool // the kernel killed the container for lack of memory
	// backoffAt is the arrival time of the first status that reports CrashLoopBackOff after the run; zero if there was
	// none.
	backoffAt instant
}

// NewEvidence returns empty evidence.
func NewEvidence(scope Scope) *Evidence { return &Evidence{scope: scope} }

// PodSeen reports whether the evidence contains a pod object. Without a pod object, there is no timeline.
func (e *Evidence) PodSeen() bool { return !e.podSeenAt.IsZero() }

// Pod returns the latest pod object.
func (e *Evidence) Pod() Pod { return e.pod }

func compareConstraints(a, b constraint) int {
	return cmp.Compare(a.key.rank()<<8|uint64(a.origin), b.key.rank()<<8|uint64(b.origin))
}

// constrain adds a constraint. If the evidence already contains a constraint with the same milestone and the same
// origin, constrain keeps only the better constraint (betterThan).
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
		// Grow by a few entries, because doubling would leave half of the capacity unused.
		if len(e.constraints) == cap(e.constraints) {
			e.constraints = append(make([]constraint, 0, len(e.constraints)+constraintGrowth), e.constraints...)
		}
		e.constraints = slices.Insert(e.constraints, i, c)
	case c.betterThan(e.constraints[i]):
		e.constraints[i] = c
	default:
		return
	}
	e.changed = true
}

// markOverflow records that evidence was dropped. Only the first call changes the evidence.
func (e *Evidence) markOverflow() {
	e.changed = e.changed || !e.overflow
	e.overflow = true
}

// indexNear returns the same index as indexOf, but is faster if the container's evidence has the index i.
func (e *Evidence) indexNear(i int, container string) int16 {
	if i < len(e.containers) && e.containers[i].name == container {
		return int16(i)
	}
	return e.indexOf(container)
}

// indexOf returns the index of a container's evidence, or podWide if there is no evidence about the container.
func (e *Evidence) indexOf(container string) int16 {
	for i := range e.containers {
		if e.containers[i].name == container {
			return int16(i)
		}
	}
	return podWide
}

// container returns the evidence about a container, and adds empty evidence for a new name. If the new name would
// exceed a limit, container returns nil.
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

// unknownContainers counts the containers in the evidence that are absent from the pod's latest spec.
func (e *Evidence) unknownContainers() int {
	n := 0
	for i := range e.containers {
		if !e.pod.has(e.containers[i].name) {
			n++
		}
	}
	return n
}

// registryOf returns the registry of an image reference. Parsing the reference is the most expensive step when the
// agent computes a timeline. So registryOf caches the latest result.
func (c *containerEvidence) registryOf(image string) string {
	if c.image != image {
		c.image, c.registry = image, imagepull.Registry(image)
	}
	return c.registry
}

// Apply adds an observation and reports whether the evidence changed. The caller must not pass observations about other
// pods. The caller must also pass each ClockSet, including those from before the pod's first observation
// (ClockLog.ApplyTo). Apply returns false if the observation changes only these values: the latest pod object, the
// arrival time of the latest waiting reason, and the time of the latest request that the runtime answered.
func (e *Evidence) Apply(o Observation) (changed bool) {
	e.changed = false
	switch o := o.(type) {
	case PodSeen:
		e.applyPod(o)
	case PodGone:
		e.changed = e.changed || !e.gone
		e.gone = true
		e.constrain(arrivalConstraint(podMilestone(MilestoneDeleted), o.ArrivedAt, o.Live))
	case EventSeen:
		e.applyEvent(o)
	case EventsWatched:
		e.applyWatched(o)
	case EventsLost:
		e.applyEventsLost(o)
	case RuntimeSeen:
		e.applyRuntime(o)
	case ClockSet:
		e.changed = e.clock.Observe(o)
	}
	if _, seen := o.(PodSeen); seen || e.changed {
		e.cached = nil
	}
	return e.changed
}

func podMilestone(m Milestone) milestoneKey { return milestoneKey{container: podWide, milestone: m} }
