package timeline

import (
	"time"
)

// Source is the component that made an observation. The values appear in records and metric labels.
type Source string

// The sources of a node agent.
const (
	SourcePodWatch   Source = "pod_watch"   // pod objects from the API server
	SourceEventWatch Source = "event_watch" // the kubelet's Events from the API server
	SourceCRI        Source = "cri"         // the container runtime over CRI
	SourceContainerd Source = "containerd"  // containerd's own stores, in addition to CRI
)

// Observation is one dated fact. Only these types implement Observation: PodSeen, PodGone, EventSeen, EventsWatched,
// EventsLost, RuntimeSeen, RuntimeSilent, ClockSet, ClockSeen, PressureSeen.
type Observation interface {
	// PodUID returns the UID of the pod object that the fact concerns. PodUID is empty for ClockSeen, ClockSet,
	// PressureSeen and RuntimeSilent.
	PodUID() string
	// Arrived returns the time on the agent's clock when the agent received the observation.
	Arrived() time.Time
}

// PodSeen is a pod object from the API server.
type PodSeen struct {
	ArrivedAt time.Time `json:"arrived_at,omitzero"` // on the agent's clock
	// Live is true if an open watch delivered the object, milliseconds after the change. Live is false if a list
	// delivered the object, because a list can arrive long after the change.
	Live bool `json:"live,omitzero"`
	Pod  Pod  `json:"pod"`
}

// PodGone means that the API server no longer has the pod object.
type PodGone struct {
	UID       string    `json:"uid"`
	ArrivedAt time.Time `json:"arrived_at,omitzero"` // on the agent's clock
	Live      bool      `json:"live,omitzero"`       // see PodSeen.Live
}

// EventSeen is one kubelet Event about a pod.
type EventSeen struct {
	UID       string    `json:"uid"`
	ArrivedAt time.Time `json:"arrived_at,omitzero"` // on the agent's clock
	Live      bool      `json:"live,omitzero"`       // see PodSeen.Live
	Container string    `json:"container,omitzero"`  // from fieldPath; empty for pod-level Events and image volumes
	Reason    string    `json:"reason,omitzero"`     // Pulling, Pulled, Failed, BackOff, …
	Message   string    `json:"message,omitzero"`    // the kubelet's message; a message above 1 KiB lacks its middle
	// NamedAt is the time of the first occurrence with nanosecond precision, from the Event's name. NamedAt is zero if
	// the name does not contain the time. (client-go names an Event <object>.<hex UnixNano>.)
	NamedAt time.Time `json:"named_at,omitzero"`
	FirstAt time.Time `json:"first_at,omitzero"` // time of the first occurrence, truncated to seconds
	LastAt  time.Time `json:"last_at,omitzero"`  // time of the latest occurrence, truncated to seconds
	// StoredAt is the time when the API server stored the first occurrence. StoredAt is a time of the control plane's
	// clock, truncated to seconds.
	StoredAt time.Time `json:"stored_at,omitzero"`
	Count    int       `json:"count,omitzero"` // number of occurrences so far, at least 1
}

// EventsWatched means that the agent has received the kubelet's Events about a pod: all Events that the API server
// stored from Since to OpenedAt. An open watch delivers the Events after OpenedAt. So until the next EventsLost, the
// absence of an Event is evidence that the kubelet did not create this Event. The Events Created and Started are an
// exception: a source can leave them out, so their absence proves nothing.
type EventsWatched struct {
	UID       string    `json:"uid"`
	ArrivedAt time.Time `json:"arrived_at,omitzero"` // on the agent's clock, after the delivery of all existing Events
	OpenedAt  time.Time `json:"opened_at,omitzero"`  // on the agent's clock
	// Since is a time of the agent's clock. If Since is zero, the agent has received all Events that the API server
	// held at OpenedAt. If Since is not zero, the agent might have missed Events that the API server stored before
	// Since.
	Since time.Time `json:"since,omitzero"`
	// Limited is true if the namespace has too many Events. In this case, the agent did not read the Events that the
	// API server stored before Since.
	Limited bool `json:"limited,omitzero"`
	// Order is higher in each later EventsWatched or EventsLost, even if the agent's clock was set back. In recordings
	// of agents up to v1.0, Order is zero, and the times of the observations determine their order.
	Order int64 `json:"order,omitzero"`
}

// EventsLost means that no Event watch covers a pod, so the agent can miss Events about the pod. The next EventsWatched
// means that a watch covers the pod again. EventsWatched.Since shows whether the agent also received the Events from
// the time without a watch.
type EventsLost struct {
	UID       string    `json:"uid"`
	ArrivedAt time.Time `json:"arrived_at,omitzero"` // on the agent's clock, when the source noticed the loss
	// Limited is true if the agent's limits for Event watches make the pod wait for a watch. There are two possible
	// reasons: too many watches are open (in total or on the pod's namespace), or watches on the namespace cost the API
	// server too much. If Limited is true, this EventsLost does not mean that a watch ended. If the pod had a watch
	// before, a separate EventsLost has reported the end of that watch.
	Limited bool  `json:"limited,omitzero"`
	Order   int64 `json:"order,omitzero"` // see EventsWatched.Order
}

// RuntimeSeen is the container runtime's response about one pod.
type RuntimeSeen struct {
	UID        string         `json:"uid"`                 // the pod object's UID, also for static pods
	QueriedAt  time.Time      `json:"asked_at,omitzero"`   // on the agent's clock, immediately before the first request
	ArrivedAt  time.Time      `json:"arrived_at,omitzero"` // on the agent's clock, after the last response
	Sandboxes  []Sandbox      `json:"sandboxes,omitempty"`
	Containers []ContainerRun `json:"containers,omitempty"`
	Images     []Image        `json:"images,omitempty"` // responses to RuntimeRequest.Images, in no particular order
	// NetworkDown is true if the runtime's network was not ready, for example because no network plugin is
	// configured. NetworkUp is true if the network was ready. NetworkDown and NetworkUp are both false if
	// RuntimeRequest.Network did not request the state of the network.
	NetworkDown bool `json:"network_down,omitzero"`
	NetworkUp   bool `json:"network_up,omitzero"`
	// NetworkFirst is true if the runtime calls the network plugin before it pulls an absent sandbox image (containerd
	// ≥ 2.0). For other runtimes, and if the runtime's version is unknown, NetworkFirst is false.
	NetworkFirst bool `json:"network_first,omitzero"`
}

// RuntimeSilent means that the container runtime did not respond for some time. The runtime was stopped, restarted, or
// too busy.
type RuntimeSilent struct {
	ArrivedAt time.Time `json:"arrived_at,omitzero"` // on the agent's clock
	From      time.Time `json:"from,omitzero"`       // time of the last response before the silence, agent's clock
	Until     time.Time `json:"until,omitzero"`      // time of the first response after the silence, agent's clock
}

// ClockSet means that the node's clock was set. For example, a time service corrects the clock after a boot, or
// after a virtual machine was paused. A change of the clock's speed is not a ClockSet.
type ClockSet struct {
	ArrivedAt time.Time     `json:"arrived_at,omitzero"` // on the agent's clock, immediately after the change
	By        time.Duration `json:"by,omitzero"`         // the new time minus the old time
}

// ClockSeen is a reading of the control plane's clock from a response to the agent.
type ClockSeen struct {
	SentAt         time.Time `json:"sent_at,omitzero"`          // time of the request, on the agent's clock
	ArrivedAt      time.Time `json:"arrived_at,omitzero"`       // time of the response, on the agent's clock
	ControlPlaneAt time.Time `json:"control_plane_at,omitzero"` // the response's HTTP header Date, truncated to seconds
}

// PressureSeen holds the kernel's counters of stalled tasks for the whole node.
type PressureSeen struct {
	ArrivedAt time.Time `json:"arrived_at,omitzero"` // time when the agent read the counters, on the agent's clock
	Stalled
}

// PodUID implements Observation.
func (o PodSeen) PodUID() string { return o.Pod.UID }

// Arrived implements Observation.
func (o PodSeen) Arrived() time.Time { return o.ArrivedAt }

// PodUID implements Observation.
func (o PodGone) PodUID() string { return o.UID }

// Arrived implements Observation.
func (o PodGone) Arrived() time.Time { return o.ArrivedAt }

// PodUID implements Observation.
func (o EventSeen) PodUID() string { return o.UID }

// Arrived implements Observation.
func (o EventSeen) Arrived() time.Time { return o.ArrivedAt }

// PodUID implements Observation.
func (o EventsWatched) PodUID() string { return o.UID }

// Arrived implements Observation.
func (o EventsWatched) Arrived() time.Time { return o.ArrivedAt }

// PodUID implements Observation.
func (o EventsLost) PodUID() string { return o.UID }

// Arrived implements Observation.
func (o EventsLost) Arrived() time.Time { return o.ArrivedAt }

// PodUID implements Observation.
func (o RuntimeSeen) PodUID() string { return o.UID }

// Arrived implements Observation.
func (o RuntimeSeen) Arrived() time.Time { return o.ArrivedAt }

// PodUID implements Observation.
func (o RuntimeSilent) PodUID() string { return "" }

// Arrived implements Observation.
func (o RuntimeSilent) Arrived() time.Time { return o.ArrivedAt }

// PodUID implements Observation.
func (o ClockSet) PodUID() string { return "" }

// Arrived implements Observation.
func (o ClockSet) Arrived() time.Time { return o.ArrivedAt }

// PodUID implements Observation.
func (o ClockSeen) PodUID() string { return "" }

// Arrived implements Observation.
func (o ClockSeen) Arrived() time.Time { return o.ArrivedAt }

// PodUID implements Observation.
func (o PressureSeen) PodUID() string { return "" }

// Arrived implements Observation.
func (o PressureSeen) Arrived() time.Time { return o.ArrivedAt }
