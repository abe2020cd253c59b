package timeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// Bounds on what one pod may make the agent keep. A start-up that needs more is a crash loop; its
// first attempts are kept, and Timeline.Missing says that later ones were left out.
const (
	maxAttempts   = 16
	maxContainers = 256
	maxFailures   = 16
	// maxNetworkDowns is more than the runtime is asked about its network for one pod in an hour, at ever longer intervals.
	maxNetworkDowns = 256
	// maxUnknownContainers is how many names are kept that the pod's spec does not have, of those told of after it was seen: ephemeral containers
	// of which an Event comes before the spec. Anybody who may create Events can make up more.
	maxUnknownContainers = 16
)

// constraintGrowth is how many more claims there is room for when evidence grows.
const constraintGrowth = 8

// Scope is what the agent can know of.
type Scope struct {
	// Runtime and Events say that the agent has such a source; evidence of others is never waited for.
	Runtime bool
	Events  bool
	// Since is from when on every start-up of the node is the agent's to report, also one that was over
	// before it saw the pod, because the agent or the API server was away; agent's clock. Zero: what it
	// did not see start is not its own.
	Since time.Time
	// ResumedAt is when the agent went on with what an earlier one had observed; agent's clock. Evidence
	// that was late by then is waited for anew: nobody fetched it meanwhile. Zero: it began with nothing.
	ResumedAt time.Time
}

// Evidence is all that is known about one pod. Applying the same observations in any order and any
// number of times gives the same evidence, but for a pod with more names of containers, or of images, than are
// kept: of these the first to come are. Not safe for concurrent use.
type Evidence struct {
	scope Scope

	pod       Pod // as last seen
	podSeenAt time.Time
	firstSeen sighting
	gone      bool
	waiting   waitingReason

	constraints      []constraint // sorted by key, then origin; at most one each
	containers       []containerEvidence
	images           []imageEvidence
	obstacleEvents   []obstacleEvent // what the kubelet's Events say kept it from making the sandbox, in the order of time
	messages         []Said          // the earliest, in the order of time
	ignoreMessages   bool            // what the kubelet says is not kept: nobody tells it
	networkDowns     []instant       // when the runtime said that its network was not ready, the earliest ones, in the order of time
	networkUp        instant         // when it first said that it was; zero for never
	imageKnown       attempts        // of which sandboxes the runtime said whether it pulled their image
	kubelet133       bool            // the kubelet is 1.33 or later
	generation       int64           // the lowest version of the spec that was seen; 0 while none is known
	watchFirstOpened time.Time       // when an Event watch was first open
	watchLastOpened  instant         // when the latest one was opened; zero for never
	watchLost        instant         // when one was last lost; zero for never
	overflow         bool            // something was left out for the bounds above
	changed          bool            // of the observation that is being applied

	runtimeAskedAt time.Time // of the latest answer

	cached *cachedTimeline // nil when there is nothing to tell again
}

// attempts is a set of the first 64 attempts.
type attempts uint64

func (a attempts) with(attempt uint16) attempts { return a | 1<<attempt } // nothing for a later one

func (a attempts) has(attempt uint16) bool { return a&(1<<attempt) != 0 }

// sighting is the first time the agent saw the pod.
type sighting struct {
	at   time.Time
	live bool
	over bool // start-up was over already
	new  bool // the kubelet had said nothing of it
}

// waitingReason is why a container waits, in the kubelet's word, and when the pod object said so.
type waitingReason struct {
	at     instant
	reason string
}

func (w waitingReason) compare(o waitingReason) int {
	return cmp.Or(cmp.Compare(w.at, o.at), cmp.Compare(w.reason, o.reason))
}

// containerEvidence is what is known of one container beside instants.
type containerEvidence struct {
	name     string
	image    string // as last folded, with its registry
	registry string
	pulled   pulledEvent // the first Event that says that the image is there
	// laterPulled are others, in the order of time.
	laterPulled []pulledEvent
	failures    []failureEvent
	// requested are when the kubelet's Events say that it asked for the first pull, and inspected when they say that the runtime
	// did not tell whether it has the image, in the order of time: more than one each only where the kubelet started again, or
	// somebody made some up.
	requested, inspected []window
	// statusFailure is the first status of the pod object that says that a pull had failed; nil when none came.
	statusFailure *failureEvent
	// statusReasons is why pulls failed by the statuses of the pod object, each reason once: the set of reasons is small.
	statusReasons []imagepull.Failure
	exits         []exit
	overflow      bool // it had attempts that were not kept
	notConfig     bool // the kubelet said that it could not make the container for a reason that is not its configuration
}

// exit is how one run of a container ended.
type exit struct{ attempt, code int }

// NewEvidence starts with nothing known.
func NewEvidence(scope Scope) *Evidence { return &Evidence{scope: scope} }

// PodSeen says whether any pod object was seen; without one there is nothing to fold.
func (e *Evidence) PodSeen() bool { return !e.podSeenAt.IsZero() }

// Reconstructed says what Timeline.Reconstructed will.
func (e *Evidence) Reconstructed() bool { return e.beforeAgent() }

// Pod is the pod object as last seen.
func (e *Evidence) Pod() Pod { return e.pod }

func compareConstraints(a, b constraint) int {
	return cmp.Compare(a.key.rank()<<8|uint64(a.origin), b.key.rank()<<8|uint64(b.origin))
}

// constrain keeps the better of the new claim and the one of the same origin.
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
	i, found := slices.BinarySearchFunc(e.constraints, c, compareConstraints)
	switch {
	case !found:
		if len(e.constraints) == cap(e.constraints) { // by a few at a time: doubling would leave half of the room unused
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

// markOverflow notes that something was left out; the first time is news.
func (e *Evidence) markOverflow() {
	e.changed = e.changed || !e.overflow
	e.overflow = true
}

// indexNear is what indexOf is where that is most likely i.
func (e *Evidence) indexNear(i int, container string) int16 {
	if i < len(e.containers) && e.containers[i].name == container {
		return int16(i)
	}
	return e.indexOf(container)
}

// indexOf is the place of a container's evidence; podWide when there is none.
func (e *Evidence) indexOf(container string) int16 {
	for i := range e.containers {
		if e.containers[i].name == container {
			return int16(i)
		}
	}
	return podWide
}

// container finds or adds the container's evidence; nil when the pod has too many names.
func (e *Evidence) container(name string) (int16, *containerEvidence) {
	if i := e.indexOf(name); i != podWide {
		return i, &e.containers[i]
	}
	if len(e.containers) == maxContainers || e.PodSeen() && !e.pod.has(name) && e.unknownContainers() >= maxUnknownContainers {
		e.markOverflow()
		return podWide, nil
	}
	e.changed = true
	e.containers = append(e.containers, containerEvidence{name: name})
	return int16(len(e.containers) - 1), &e.containers[len(e.containers)-1]
}

// unknownContainers counts the names that the pod's spec, as last seen, does not have.
func (e *Evidence) unknownContainers() int {
	n := 0
	for i := range e.containers {
		if !e.pod.has(e.containers[i].name) {
			n++
		}
	}
	return n
}

// registryOf parses a reference once: nothing else about a fold costs as much.
func (c *containerEvidence) registryOf(image string) string {
	if c.image != image {
		c.image, c.registry = image, imagepull.Registry(image)
	}
	return c.registry
}

// Apply adds what an observation tells. Observations about other pods are the caller's error. It returns
// whether the observation was news: if not, all but the latest pod object and when the runtime was last
// asked would be the same without it.
func (e *Evidence) Apply(o Observation) (changed bool) {
	e.changed = false
	switch o := o.(type) {
	case PodSeen:
		e.applyPod(o)
	case PodGone:
		e.changed = e.changed || !e.gone
		e.gone = true
		e.constrain(arrival(podMark(MarkDeleted), originArrival, o.ArrivedAt, o.Live))
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

func podMark(m Mark) markKey { return markKey{container: podWide, mark: m} }
