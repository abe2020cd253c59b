package timeline

import (
	"time"
)

// Source is who made an observation. The values appear in records and metric labels.
type Source string

// The sources of a node agent.
const (
	SourcePodWatch   Source = "pod_watch"   // pod objects from the API server
	SourceEventWatch Source = "event_watch" // the kubelet's Events from the API server
	SourceCRI        Source = "cri"         // the container runtime over CRI
	SourceContainerd Source = "containerd"  // containerd's own stores, in addition to CRI
)

// Observation is one dated fact. The set of types is closed: PodSeen, PodGone, EventSeen, EventsWatched, EventsLost,
// RuntimeSeen, RuntimeSilent, ClockSeen, PressureSeen.
type Observation interface {
	// PodUID is the UID of the pod object in the API server that the fact is about; empty for ClockSeen,
	// PressureSeen and RuntimeSilent.
	PodUID() string
	// Arrived is when the agent received it, on its own clock.
	Arrived() time.Time
}

// PodSeen is a pod object from the API server.
type PodSeen struct {
	ArrivedAt time.Time `json:"arrived_at,omitzero"` // agent's clock
	// Live says that the object came through a running watch, milliseconds after the change. It is false for a list,
	// which may arrive long after the change.
	Live bool `json:"live,omitzero"`
	Pod  Pod  `json:"pod"`
}

// PodGone says that the pod object no longer exists in the API server.
type PodGone struct {
	UID       string    `json:"uid"`
	ArrivedAt time.Time `json:"arrived_at,omitzero"` // agent's clock
	Live      bool      `json:"live,omitzero"`       // as in PodSeen
}

// EventSeen is one kubelet Event about a pod.
type EventSeen struct {
	UID       string    `json:"uid"`
	ArrivedAt time.Time `json:"arrived_at,omitzero"` // agent's clock
	Live      bool      `json:"live,omitzero"`       // as in PodSeen
	Container string    `json:"container,omitzero"`  // from fieldPath; empty for pod-level Events and image volumes
	Reason    string    `json:"reason,omitzero"`     // Pulling, Pulled, Failed, BackOff, …
	Message   string    `json:"message,omitzero"`    // as the kubelet wrote it; the middle of more than 1 KiB is cut
	// NamedAt is the first occurrence in nanoseconds, from the Event's name; zero if the name does not contain it.
	// (client-go names an Event <object>.<hex UnixNano>.)
	NamedAt time.Time `json:"named_at,omitzero"`
	FirstAt time.Time `json:"first_at,omitzero"` // first occurrence, truncated to seconds
	LastAt  time.Time `json:"last_at,omitzero"`  // latest occurrence, truncated to seconds
	// StoredAt is when the API server stored the first occurrence, on the control plane's clock, truncated to
	// seconds.
	StoredAt time.Time `json:"stored_at,omitzero"`
	Count    int       `json:"count,omitzero"` // occurrences so far, at least 1
}

// EventsWatched says that all kubelet Events about a pod that the API server held at OpenedAt have been observed,
// and that later ones are observed when they arrive. From then on, the absence of an Event is evidence.
type EventsWatched struct {
	UID       string    `json:"uid"`
	ArrivedAt time.Time `json:"arrived_at,omitzero"` // agent's clock, when all existing Events had been delivered
	OpenedAt  time.Time `json:"opened_at,omitzero"`  // agent's clock
}

// EventsLost revokes an EventsWatched: from then on, Events about the pod may be missed. This lasts until another
// EventsWatched, because a new watch begins with everything that the API server holds.
type EventsLost struct {
	UID       string    `json:"uid"`
	ArrivedAt time.Time `json:"arrived_at,omitzero"` // agent's clock, when the source noticed
}

// RuntimeSeen is the container runtime's answer about one pod.
type RuntimeSeen struct {
	UID        string         `json:"uid"`                 // the pod object's UID, also for static pods
	AskedAt    time.Time      `json:"asked_at,omitzero"`   // agent's clock, just before the first question
	ArrivedAt  time.Time      `json:"arrived_at,omitzero"` // agent's clock, after the last answer
	Sandboxes  []Sandbox      `json:"sandboxes,omitempty"`
	Containers []ContainerRun `json:"containers,omitempty"`
	Images     []Image        `json:"images,omitempty"` // answers to LookUp.Images, in no particular order
	// NetworkDown says that the runtime's network was not ready, for example because no network plugin is
	// configured. NetworkUp says that it was ready. NetworkUp and NetworkDown are both false if LookUp.Network did not
	// ask.
	NetworkDown bool `json:"network_down,omitzero"`
	NetworkUp   bool `json:"network_up,omitzero"`
}

// RuntimeSilent says that the container runtime did not answer: it was stopped, restarted, or too busy.
type RuntimeSilent struct {
	ArrivedAt time.Time `json:"arrived_at,omitzero"` // agent's clock
	From      time.Time `json:"from,omitzero"`       // agent's clock: the last answer before, and the first one after
	Until     time.Time `json:"until,omitzero"`      // agent's clock: the last answer before, and the first one after
}

// ClockSeen is a reading of the control plane's clock from a response to the agent.
type ClockSeen struct {
	SentAt         time.Time `json:"sent_at,omitzero"`          // agent's clock, before the request
	ArrivedAt      time.Time `json:"arrived_at,omitzero"`       // agent's clock, after the response
	ControlPlaneAt time.Time `json:"control_plane_at,omitzero"` // truncated to seconds (the HTTP Date of the response)
}

// PressureSeen is the kernel's counters of stalled tasks on the whole node.
type PressureSeen struct {
	ArrivedAt time.Time `json:"arrived_at,omitzero"` // agent's clock, when it was read
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
func (o ClockSeen) PodUID() string { return "" }

// Arrived implements Observation.
func (o ClockSeen) Arrived() time.Time { return o.ArrivedAt }

// PodUID implements Observation.
func (o PressureSeen) PodUID() string { return "" }

// Arrived implements Observation.
func (o PressureSeen) Arrived() time.Time { return o.ArrivedAt }
