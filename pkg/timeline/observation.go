package timeline

import (
	"time"
)

// Source names who made an observation. The values appear in records and metric labels.
type Source string

// The sources of a node agent.
const (
	SourcePodWatch   Source = "pod_watch"   // pod objects from the API server
	SourceEventWatch Source = "event_watch" // the kubelet's Events from the API server
	SourceCRI        Source = "cri"         // the container runtime over CRI
	SourceContainerd Source = "containerd"  // containerd's own stores, beside CRI
)

// Observation is one dated fact. The set is closed: PodSeen, PodGone, EventSeen, EventsWatched,
// EventsLost, RuntimeSeen, RuntimeSilent, ClockSeen, PressureSeen.
type Observation interface {
	// PodUID is the UID of the pod object in the API server that the fact is about; empty for a ClockSeen, a
	// PressureSeen and a RuntimeSilent.
	PodUID() string
}

// PodSeen is a pod object as the API server had it.
type PodSeen struct {
	ArrivedAt time.Time // agent's clock
	// Live says that the object came through a running watch, milliseconds after the change; false
	// for a list, which may be told long after the fact.
	Live bool
	Pod  Pod
}

// PodGone says that the pod object no longer exists in the API server.
type PodGone struct {
	UID       string
	ArrivedAt time.Time // agent's clock
	Live      bool      // as in PodSeen
}

// EventSeen is one kubelet Event about a pod.
type EventSeen struct {
	UID       string
	ArrivedAt time.Time // agent's clock
	Live      bool      // as in PodSeen
	Container string    // from fieldPath; empty for pod-level Events and image volumes
	Reason    string    // Pulling, Pulled, Failed, BackOff, …
	Message   string    // as the kubelet wrote it; of more than 1 KiB the middle is left out
	// NamedAt is the first occurrence at nanosecond resolution, from the Event's name; zero when the
	// name does not carry it. (client-go names an Event <object>.<hex UnixNano>.)
	NamedAt time.Time
	FirstAt time.Time // first occurrence, floored to a second
	LastAt  time.Time // latest occurrence, floored to a second
	// StoredAt is when the API server stored the first occurrence, floored to a second, control plane's clock.
	StoredAt time.Time
	Count    int // occurrences so far, at least 1
}

// EventsWatched says that every kubelet Event about a pod that the API server held at OpenedAt has been
// observed, and that what came since was observed as it came: from here on, that an Event is absent
// tells something.
type EventsWatched struct {
	UID       string
	ArrivedAt time.Time // agent's clock, when what there was had been told
	OpenedAt  time.Time // agent's clock
}

// EventsLost takes an EventsWatched back: from here on Events about the pod may come that nobody sees, until
// another EventsWatched, whose watch began with all that the API server held.
type EventsLost struct {
	UID       string
	ArrivedAt time.Time // agent's clock, when the source noticed
}

// RuntimeSeen is what the container runtime said of one pod when asked.
type RuntimeSeen struct {
	UID        string    // the pod object's UID, also for static pods
	AskedAt    time.Time // agent's clock, just before the first question
	ArrivedAt  time.Time // agent's clock, after the last answer
	Sandboxes  []Sandbox
	Containers []ContainerRun
	Images     []Image // answers to LookUp.Images, in no particular order
	// NetworkDown says that the runtime's network was not ready, as when no network plugin is configured, and NetworkUp that
	// it was; both are false where LookUp.Network did not ask.
	NetworkDown, NetworkUp bool
}

// RuntimeSilent says that the container runtime did not answer: it was stopped, restarted, or too busy.
type RuntimeSilent struct {
	ArrivedAt   time.Time // agent's clock
	From, Until time.Time // agent's clock: the last answer before, and the first one after
}

// ClockSeen says what the control plane's clock showed when it answered the agent.
type ClockSeen struct {
	SentAt         time.Time // agent's clock, before the question left
	ArrivedAt      time.Time // agent's clock, after the answer came
	ControlPlaneAt time.Time // floored to a second (the answer's HTTP Date)
}

// PressureSeen is what the kernel had counted of the whole node's stalled tasks.
type PressureSeen struct {
	ArrivedAt time.Time // agent's clock, when it was read
	Stalled   Stalled
}

// PodUID implements Observation.
func (o PodSeen) PodUID() string { return o.Pod.UID }

// PodUID implements Observation.
func (o PodGone) PodUID() string { return o.UID }

// PodUID implements Observation.
func (o EventSeen) PodUID() string { return o.UID }

// PodUID implements Observation.
func (o EventsWatched) PodUID() string { return o.UID }

// PodUID implements Observation.
func (o EventsLost) PodUID() string { return o.UID }

// PodUID implements Observation.
func (o RuntimeSeen) PodUID() string { return o.UID }

// PodUID implements Observation.
func (o RuntimeSilent) PodUID() string { return "" }

// PodUID implements Observation.
func (o ClockSeen) PodUID() string { return "" }

// PodUID implements Observation.
func (o PressureSeen) PodUID() string { return "" }
