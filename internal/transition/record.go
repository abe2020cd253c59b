package transition

import "github.com/podlapse/podlapse/pkg/api"

// Record is one line in the format of kube-transition-metrics, for programs that already read this format. A line
// describes a pod, a container, or the pull of a container's image. The names and meanings of the fields come from the
// JSON schema of kube-transition-metrics. docs/records.md lists the differences. A line omits unknown values.
type Record struct {
	Metrics Metrics     `json:"kube_transition_metrics"`
	Time    api.Instant `json:"time"` // time at which the line was created
}

// Values of Metrics.Type.
const (
	typePod       = "pod"
	typeContainer = "container"
	typeImagePull = "image_pull"
)

// Metrics is the content of a record. Exactly one of Pod, Container and ImagePull is set.
type Metrics struct {
	Type    string `json:"type"`
	Partial bool   `json:"partial"` // true if another record of the same object will follow

	Labels
	ContainerName string `json:"container_name,omitempty"` // name of the container; absent for an image volume
	ShortImage    string `json:"short_image,omitempty"`
	ImageName     string `json:"image_name,omitempty"`
	ImageTag      string `json:"image_tag,omitempty"`

	Pod       *Pod       `json:"pod,omitempty"`
	Container *Container `json:"container,omitempty"`
	ImagePull *ImagePull `json:"image_pull,omitempty"`
}

// Labels identify the pod of a record. All records of a pod have the same labels.
type Labels struct {
	Namespace     string `json:"kube_namespace"`
	PodName       string `json:"pod_name"`
	Node          string `json:"kube_node,omitempty"`
	QOS           string `json:"kube_qos,omitempty"`
	PriorityClass string `json:"kube_priority_class,omitempty"`
	RuntimeClass  string `json:"kube_runtime_class,omitempty"`

	OwnerKind   string `json:"kube_ownerref_kind,omitempty"` // kind in lower case, as in kube-transition-metrics
	OwnerName   string `json:"kube_ownerref_name,omitempty"`
	CronJob     string `json:"kube_cronjob,omitempty"`
	DaemonSet   string `json:"kube_daemon_set,omitempty"`
	Deployment  string `json:"kube_deployment,omitempty"`
	Job         string `json:"kube_job,omitempty"`
	ReplicaSet  string `json:"kube_replica_set,omitempty"`
	StatefulSet string `json:"kube_statefulset,omitempty"`

	AppComponent string `json:"kube_app_component,omitempty"`
	AppInstance  string `json:"kube_app_instance,omitempty"`
	AppManagedBy string `json:"kube_app_managed_by,omitempty"`
	AppName      string `json:"kube_app_name,omitempty"`
	AppPartOf    string `json:"kube_app_part_of,omitempty"`
	AppVersion   string `json:"kube_app_version,omitempty"`
}

// Pod holds the times at which the pod first reached each state.
type Pod struct {
	CreatedAt              api.Instant  `json:"creation_timestamp"`
	ScheduledAt            api.Instant  `json:"scheduled_timestamp,omitzero"`
	CreationToScheduled    *api.Seconds `json:"creation_to_scheduled_seconds,omitempty"`
	InitializedAt          api.Instant  `json:"initialized_timestamp,omitzero"`
	CreationToInitialized  *api.Seconds `json:"creation_to_initialized_seconds,omitempty"`
	ScheduledToInitialized *api.Seconds `json:"scheduled_to_initialized_seconds,omitempty"`
	ReadyAt                api.Instant  `json:"ready_timestamp,omitzero"`
	CreationToReady        *api.Seconds `json:"creation_to_ready_seconds,omitempty"`
	InitializedToReady     *api.Seconds `json:"initialized_to_ready_seconds,omitempty"`
}

// Container holds the times at which a container first reached each state.
type Container struct {
	InitContainer bool `json:"init_container"` // true for init containers and sidecars
	// PreviousToRunning is absent for main containers, and for the container that the kubelet starts first.
	PreviousToRunning *api.Seconds `json:"previous_to_running_seconds,omitempty"`
	// InitializedToRunning is absent for init containers and sidecars.
	InitializedToRunning *api.Seconds `json:"initialized_to_running_seconds,omitempty"`
	RunningAt            api.Instant  `json:"running_timestamp,omitzero"`
	// StartedAt, RunningToStarted and StartedToReady are absent for init containers and sidecars.
	StartedAt        api.Instant  `json:"started_timestamp,omitzero"`
	RunningToStarted *api.Seconds `json:"running_to_started_seconds,omitempty"`
	// For an init container that is not a sidecar, ReadyAt is the time at which it exited with code 0.
	ReadyAt        api.Instant  `json:"ready_timestamp,omitzero"`
	RunningToReady *api.Seconds `json:"running_to_ready_seconds,omitempty"`
	StartedToReady *api.Seconds `json:"started_to_ready_seconds,omitempty"`
}

// ImagePull covers the time from the kubelet's request for an image until the runtime had the image. ImagePull
// includes all attempts.
type ImagePull struct {
	// AlreadyPresent is true if the node already had the image. nil means unknown.
	AlreadyPresent *bool        `json:"already_present,omitempty"`
	StartedAt      api.Instant  `json:"started_timestamp"`
	FinishedAt     api.Instant  `json:"finished_timestamp,omitzero"`
	Duration       *api.Seconds `json:"duration_seconds,omitempty"`
}
