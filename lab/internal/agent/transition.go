package agent

import (
	"encoding/json"
	"time"
)

// Transition is a record in the format of kube-transition-metrics. A record describes one pod, one container, or one
// image pull. Unknown values are zero or empty.
type Transition struct {
	Metrics TransitionMetrics `json:"kube_transition_metrics"`
	Time    time.Time         `json:"time"`

	Raw []byte `json:"-"` // the line as received
}

// TransitionMetrics is the value of the field kube_transition_metrics in a record. Exactly one of the fields Pod,
// ContainerReached and ImagePull is set.
type TransitionMetrics struct {
	Type    string `json:"type"`
	Partial bool   `json:"partial"`
	TransitionLabels
	Container  string `json:"container_name"` // absent for an image volume
	ShortImage string `json:"short_image"`
	ImageName  string `json:"image_name"`
	ImageTag   string `json:"image_tag"` // the tag, or the digest if the reference has no tag

	Pod              *PodTransition       `json:"pod"`
	ContainerReached *ContainerTransition `json:"container"`
	ImagePull        *PullTransition      `json:"image_pull"`
}

// TransitionLabels identifies the pod of a record. All records of a pod have the same labels.
type TransitionLabels struct {
	Namespace     string `json:"kube_namespace"`
	PodName       string `json:"pod_name"`
	Node          string `json:"kube_node"`
	QOS           string `json:"kube_qos"`
	PriorityClass string `json:"kube_priority_class"`
	RuntimeClass  string `json:"kube_runtime_class"`
	OwnerKind     string `json:"kube_ownerref_kind"` // in lower case
	OwnerName     string `json:"kube_ownerref_name"`
	CronJob       string `json:"kube_cronjob"`
	DaemonSet     string `json:"kube_daemon_set"`
	Deployment    string `json:"kube_deployment"`
	Job           string `json:"kube_job"`
	ReplicaSet    string `json:"kube_replica_set"`
	StatefulSet   string `json:"kube_statefulset"`
	Service       string `json:"kube_service"`
	AppComponent  string `json:"kube_app_component"`
	AppInstance   string `json:"kube_app_instance"`
	AppManagedBy  string `json:"kube_app_managed_by"`
	AppName       string `json:"kube_app_name"`
	AppPartOf     string `json:"kube_app_part_of"`
	AppVersion    string `json:"kube_app_version"`
}

// PodTransition contains the times at which a pod reached each state.
type PodTransition struct {
	CreatedAt              time.Time   `json:"creation_timestamp"`
	ScheduledAt            time.Time   `json:"scheduled_timestamp"`
	InitializedAt          time.Time   `json:"initialized_timestamp"`
	ReadyAt                time.Time   `json:"ready_timestamp"`
	CreationToScheduled    json.Number `json:"creation_to_scheduled_seconds"`
	CreationToInitialized  json.Number `json:"creation_to_initialized_seconds"`
	ScheduledToInitialized json.Number `json:"scheduled_to_initialized_seconds"`
	CreationToReady        json.Number `json:"creation_to_ready_seconds"`
	InitializedToReady     json.Number `json:"initialized_to_ready_seconds"`
}

// ContainerTransition contains the times at which a container reached each state.
type ContainerTransition struct {
	InitContainer        bool        `json:"init_container"`
	RunningAt            time.Time   `json:"running_timestamp"`
	StartedAt            time.Time   `json:"started_timestamp"`
	ReadyAt              time.Time   `json:"ready_timestamp"`
	InitializedToRunning json.Number `json:"initialized_to_running_seconds"`
	PreviousToRunning    json.Number `json:"previous_to_running_seconds"`
	RunningToStarted     json.Number `json:"running_to_started_seconds"`
	RunningToReady       json.Number `json:"running_to_ready_seconds"`
	StartedToReady       json.Number `json:"started_to_ready_seconds"`
}

// PullTransition describes the time from the first request for an image until the image was present.
type PullTransition struct {
	// nil if the evidence does not show whether the node already had the image
	AlreadyPresent *bool       `json:"already_present"`
	StartedAt      time.Time   `json:"started_timestamp"`
	FinishedAt     time.Time   `json:"finished_timestamp"`
	Duration       json.Number `json:"duration_seconds"`
}
