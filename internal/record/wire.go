package record

import "time"

// The kinds of line.
const (
	kindHeader      = "header"
	kindPodSeen     = "pod_seen"
	kindPodGone     = "pod_gone"
	kindEventSeen   = "event_seen"
	kindWatched     = "events_watched"
	kindLost        = "events_lost"
	kindRuntimeSeen = "runtime_seen"
	kindClockSeen   = "clock_seen"
	kindPressure    = "pressure_seen"
	kindSilent      = "runtime_silent"
)

// The types below are the format. Package timeline documents the fields, in types of the same
// names. What is false, zero, empty or absent is omitted.

// tag is the part that every line has.
type tag struct {
	Kind string `json:"kind"`
}

// header is the first line. A later header says that an agent restarted and continued in this file.
type header struct {
	tag
	Version int     `json:"version"`
	Agent   string  `json:"agent,omitzero"`   // version of the agent that recorded
	Runtime bool    `json:"runtime,omitzero"` // the agent had a source of this kind, see timeline.Scope
	Events  bool    `json:"events,omitzero"`
	Since   instant `json:"since,omitzero"`
	Ends    bool    `json:"ends,omitzero"` // the agent followed the ends of pods
}

type podSeen struct {
	tag
	ArrivedAt instant `json:"arrived_at,omitzero"`
	Live      bool    `json:"live,omitzero"`
	Pod       pod     `json:"pod"`
}

type clockSeen struct {
	tag
	SentAt         instant `json:"sent_at,omitzero"`
	ArrivedAt      instant `json:"arrived_at,omitzero"`
	ControlPlaneAt instant `json:"control_plane_at,omitzero"`
}

// pressureSeen has durations in nanoseconds.
type pressureSeen struct {
	tag
	ArrivedAt instant       `json:"arrived_at,omitzero"`
	CPU       time.Duration `json:"cpu_stalled,omitzero"`
	IO        time.Duration `json:"io_stalled,omitzero"`
	Memory    time.Duration `json:"memory_stalled,omitzero"`
}

type runtimeSilent struct {
	tag
	ArrivedAt instant `json:"arrived_at,omitzero"`
	From      instant `json:"from,omitzero"`
	Until     instant `json:"until,omitzero"`
}

type podGone struct {
	tag
	UID       string  `json:"uid"`
	ArrivedAt instant `json:"arrived_at,omitzero"`
	Live      bool    `json:"live,omitzero"`
}

type eventSeen struct {
	tag
	UID       string  `json:"uid"`
	ArrivedAt instant `json:"arrived_at,omitzero"`
	Live      bool    `json:"live,omitzero"`
	Container string  `json:"container,omitzero"`
	Reason    string  `json:"reason,omitzero"`
	Message   string  `json:"message,omitzero"`
	NamedAt   instant `json:"named_at,omitzero"`
	FirstAt   instant `json:"first_at,omitzero"`
	LastAt    instant `json:"last_at,omitzero"`
	StoredAt  instant `json:"stored_at,omitzero"`
	Count     int     `json:"count,omitzero"`
}

type eventsWatched struct {
	tag
	UID       string  `json:"uid"`
	ArrivedAt instant `json:"arrived_at,omitzero"`
	OpenedAt  instant `json:"opened_at,omitzero"`
}

type eventsLost struct {
	tag
	UID       string  `json:"uid"`
	ArrivedAt instant `json:"arrived_at,omitzero"`
}

type runtimeSeen struct {
	tag
	UID        string         `json:"uid"`
	AskedAt    instant        `json:"asked_at,omitzero"`
	ArrivedAt  instant        `json:"arrived_at,omitzero"`
	Sandboxes  []sandbox      `json:"sandboxes,omitempty"`
	Containers []containerRun `json:"containers,omitempty"`
	Images     []image        `json:"images,omitempty"`

	NetworkDown bool `json:"network_down,omitzero"`
	NetworkUp   bool `json:"network_up,omitzero"`
}

type pod struct {
	UID            string  `json:"uid"`
	RuntimeUID     string  `json:"runtime_uid,omitzero"`
	Namespace      string  `json:"namespace,omitzero"`
	Name           string  `json:"name,omitzero"`
	Node           string  `json:"node,omitzero"`
	Owner          owner   `json:"owner,omitzero"`
	Traits         traits  `json:"traits,omitzero"`
	CreatedAt      instant `json:"created_at,omitzero"`
	ReadAt         instant `json:"read_at,omitzero"`
	AcknowledgedAt instant `json:"acknowledged_at,omitzero"`
	DeletedAt      instant `json:"deleted_at,omitzero"`
	// DeletionGrace is in nanoseconds.
	DeletionGrace    time.Duration `json:"deletion_grace,omitzero"`
	DeletionObserved bool          `json:"deletion_observed,omitzero"`
	Finalizers       bool          `json:"finalizers,omitzero"`
	Disruption       string        `json:"disruption,omitzero"`
	Phase            string        `json:"phase,omitzero"`
	Reason           string        `json:"reason,omitzero"`
	Conditions       []condition   `json:"conditions,omitempty"`
	ReadinessGates   bool          `json:"readiness_gates,omitzero"`

	Generation        int64   `json:"generation,omitzero"`
	KubeletGeneration int64   `json:"kubelet_generation,omitzero"`
	UnschedulableAt   instant `json:"unschedulable_at,omitzero"`
	FieldsManaged     bool    `json:"fields_managed,omitzero"`
	HostNetwork       bool    `json:"host_network,omitzero"`
	ResourceClaims    bool    `json:"resource_claims,omitzero"`
	VolumeClaims      bool    `json:"volume_claims,omitzero"`
	RemoteVolumes     bool    `json:"remote_volumes,omitzero"`

	Revision    string      `json:"revision,omitzero"`
	TraceParent string      `json:"trace_parent,omitzero"`
	Labels      string      `json:"labels,omitzero"`
	Containers  []container `json:"containers,omitempty"`
}

type owner struct {
	Kind string `json:"kind,omitzero"`
	Name string `json:"name,omitzero"`
}

type traits struct {
	Controller    owner     `json:"controller,omitzero"`
	QOSClass      string    `json:"qos_class,omitzero"`
	PriorityClass string    `json:"priority_class,omitzero"`
	RuntimeClass  string    `json:"runtime_class,omitzero"`
	App           appLabels `json:"app,omitzero"`
}

type appLabels struct {
	Component string `json:"component,omitzero"`
	Instance  string `json:"instance,omitzero"`
	ManagedBy string `json:"managed_by,omitzero"`
	Name      string `json:"name,omitzero"`
	PartOf    string `json:"part_of,omitzero"`
	Version   string `json:"version,omitzero"`
}

type condition struct {
	Type         string  `json:"type"`
	True         bool    `json:"true,omitzero"`
	TransitionAt instant `json:"transition_at,omitzero"`
}

type container struct {
	Name           string  `json:"name"`
	Kind           string  `json:"kind,omitzero"`
	Image          string  `json:"image,omitzero"`
	PullPolicy     string  `json:"pull_policy,omitzero"`
	StartupProbe   bool    `json:"startup_probe,omitzero"`
	ReadinessProbe bool    `json:"readiness_probe,omitzero"`
	PostStartHook  bool    `json:"post_start_hook,omitzero"`
	PreStopHook    bool    `json:"pre_stop_hook,omitzero"`
	RestartsAlways bool    `json:"restarts_always,omitzero"`
	State          string  `json:"state,omitzero"`
	WaitingReason  string  `json:"waiting_reason,omitzero"`
	PullFailure    string  `json:"pull_failure,omitzero"`
	Attempt        int     `json:"attempt,omitzero"`
	StartedAt      instant `json:"started_at,omitzero"`
	FinishedAt     instant `json:"finished_at,omitzero"`
	ExitCode       int     `json:"exit_code,omitzero"`
	EndReason      string  `json:"end_reason,omitzero"`
	Started        bool    `json:"started,omitzero"`
	Ready          bool    `json:"ready,omitzero"`
	LastRun        *run    `json:"last_run,omitempty"`
}

type run struct {
	StartedAt  instant `json:"started_at,omitzero"`
	FinishedAt instant `json:"finished_at,omitzero"`
	ExitCode   int     `json:"exit_code,omitzero"`
	Reason     string  `json:"reason,omitzero"`
}

type sandbox struct {
	ID             string  `json:"id,omitzero"`
	Attempt        int     `json:"attempt,omitzero"`
	Ready          bool    `json:"ready,omitzero"`
	BegunAt        instant `json:"begun_at,omitzero"`
	NetworkReadyAt instant `json:"network_ready_at,omitzero"`

	ImageResolvedAt instant `json:"image_resolved_at,omitzero"`
	ImagePulledAt   instant `json:"image_pulled_at,omitzero"`
	ImageKnown      bool    `json:"image_known,omitzero"`

	RunningAt instant `json:"running_at,omitzero"`
	CreatedAt instant `json:"created_at,omitzero"`
}

type containerRun struct {
	Name       string  `json:"name"`
	ID         string  `json:"id,omitzero"`
	Attempt    int     `json:"attempt,omitzero"`
	CreatedAt  instant `json:"created_at,omitzero"`
	StartedAt  instant `json:"started_at,omitzero"`
	FinishedAt instant `json:"finished_at,omitzero"`
	ExitCode   int     `json:"exit_code,omitzero"`
	Reason     string  `json:"reason,omitzero"`
}

type image struct {
	Ref           string  `json:"ref"`
	Present       bool    `json:"present,omitzero"`
	FirstPulledAt instant `json:"first_pulled_at,omitzero"`
	PulledAt      instant `json:"pulled_at,omitzero"`
	SizeBytes     int64   `json:"size_bytes,omitzero"`
	Digest        string  `json:"digest,omitzero"`
	ResolvedAt    instant `json:"resolved_at,omitzero"`
	Layers        []layer `json:"layers,omitempty"`
	Layered       bool    `json:"layered,omitzero"`
	Incomplete    bool    `json:"untold,omitzero"`
}

type layer struct {
	Digest       string  `json:"digest"`
	SizeBytes    int64   `json:"size_bytes,omitzero"`
	DownloadedAt instant `json:"downloaded_at,omitzero"`
	UnpackedAt   instant `json:"unpacked_at,omitzero"`
	Remote       bool    `json:"remote,omitzero"`
}
