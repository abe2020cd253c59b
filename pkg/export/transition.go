package export

// TransitionRecord is one line in the format of kube-transition-metrics, for who reads that already: a pod, one of its
// containers, or the pull of one container's image. Names and meanings are those of its JSON schema; docs/records.md
// tells the differences. What is not known is left out.
type TransitionRecord struct {
	Metrics TransitionMetrics `json:"kube_transition_metrics"`
	Time    Instant           `json:"time"` // when the line was made
}

// The types of a transition record.
const (
	transitionPod       = "pod"
	transitionContainer = "container"
	transitionImagePull = "image_pull"
)

// TransitionMetrics has exactly one of the three parts at its end.
type TransitionMetrics struct {
	Type    string `json:"type"`
	Partial bool   `json:"partial"` // another record of the same will follow

	TransitionLabels
	ContainerName string `json:"container_name,omitempty"` // absent of the image of a volume
	ShortImage    string `json:"short_image,omitempty"`
	ImageName     string `json:"image_name,omitempty"`
	ImageTag      string `json:"image_tag,omitempty"`

	Pod       *PodTransition       `json:"pod,omitempty"`
	Container *ContainerTransition `json:"container,omitempty"`
	ImagePull *ImagePullTransition `json:"image_pull,omitempty"`
}

// TransitionLabels tell whose record it is; the same in all records of a pod.
type TransitionLabels struct {
	Namespace     string `json:"kube_namespace"`
	PodName       string `json:"pod_name"`
	Node          string `json:"kube_node,omitempty"`
	QOS           string `json:"kube_qos,omitempty"`
	PriorityClass string `json:"kube_priority_class,omitempty"`
	RuntimeClass  string `json:"kube_runtime_class,omitempty"`

	OwnerKind   string `json:"kube_ownerref_kind,omitempty"` // in lower case, as the predecessor has it
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

// PodTransition is when the pod first came how far.
type PodTransition struct {
	CreatedAt              Instant  `json:"creation_timestamp"`
	ScheduledAt            Instant  `json:"scheduled_timestamp,omitzero"`
	CreationToScheduled    *Seconds `json:"creation_to_scheduled_seconds,omitempty"`
	InitializedAt          Instant  `json:"initialized_timestamp,omitzero"`
	CreationToInitialized  *Seconds `json:"creation_to_initialized_seconds,omitempty"`
	ScheduledToInitialized *Seconds `json:"scheduled_to_initialized_seconds,omitempty"`
	ReadyAt                Instant  `json:"ready_timestamp,omitzero"`
	CreationToReady        *Seconds `json:"creation_to_ready_seconds,omitempty"`
	InitializedToReady     *Seconds `json:"initialized_to_ready_seconds,omitempty"`
}

// ContainerTransition is when a container first came how far.
type ContainerTransition struct {
	InitContainer        bool     `json:"init_container"`                           // sidecars, too
	PreviousToRunning    *Seconds `json:"previous_to_running_seconds,omitempty"`    // init containers but the first
	InitializedToRunning *Seconds `json:"initialized_to_running_seconds,omitempty"` // others
	RunningAt            Instant  `json:"running_timestamp,omitzero"`
	StartedAt            Instant  `json:"started_timestamp,omitzero"` // not of init containers, like all from started
	RunningToStarted     *Seconds `json:"running_to_started_seconds,omitempty"`
	ReadyAt              Instant  `json:"ready_timestamp,omitzero"` // of init containers that are no sidecars: exited 0
	RunningToReady       *Seconds `json:"running_to_ready_seconds,omitempty"`
	StartedToReady       *Seconds `json:"started_to_ready_seconds,omitempty"`
}

// ImagePullTransition is from kubelet's request for an image until the runtime had it, all attempts together.
type ImagePullTransition struct {
	AlreadyPresent *bool    `json:"already_present,omitempty"` // nil where no evidence tells
	StartedAt      Instant  `json:"started_timestamp"`
	FinishedAt     Instant  `json:"finished_timestamp,omitzero"`
	Duration       *Seconds `json:"duration_seconds,omitempty"`
}
