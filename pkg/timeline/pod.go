package timeline

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// Pod is the part of a pod object that start-up timing needs. Instants are truncated to seconds, as the API server
// stores them. The zero time means absent.
type Pod struct {
	UID string `json:"uid"`
	// the UID in the kubelet and the runtime; differs from UID only for static pods
	RuntimeUID string  `json:"runtime_uid,omitzero"`
	Namespace  string  `json:"namespace,omitzero"`
	Name       string  `json:"name,omitzero"`
	Node       string  `json:"node,omitzero"`
	Owner      Owner   `json:"owner,omitzero"`
	Traits     *Traits `json:"traits,omitempty"` // nil if not needed

	CreatedAt time.Time `json:"created_at,omitzero"` // metadata.creationTimestamp, control plane's clock
	// ReadAt is when the kubelet read the manifest of a static pod (the annotation kubernetes.io/config.seen):
	// exact, on the kubelet's clock; zero for other pods. A static pod's start-up begins then: the object in the API
	// server is a mirror that the kubelet creates later, often after the sandbox.
	ReadAt         time.Time `json:"read_at,omitzero"`
	AcknowledgedAt time.Time `json:"acknowledged_at,omitzero"` // status.startTime, the kubelet's clock
	// metadata.deletionTimestamp minus its grace period: when deletion was requested
	DeletedAt time.Time `json:"deleted_at,omitzero"`
	// DeletionGrace is metadata.deletionGracePeriodSeconds. The kubelet sets it to 0 when it releases the object.
	// This field and the three below are set only after a deletion request, and only if terminations are followed.
	DeletionGrace time.Duration `json:"deletion_grace,omitzero"`
	// DeletionObserved says that the kubelet that wrote the status knows of the deletion: its observedGeneration is
	// the object's generation, which the deletion has raised. Unknown before Kubernetes 1.34.
	DeletionObserved bool `json:"deletion_observed,omitzero"`
	// Finalizers says that the object has finalizers, which keep it after the kubelet has released it.
	Finalizers bool `json:"finalizers,omitzero"`
	// Disruption is the reason of the condition DisruptionTarget, e.g. EvictionByEvictionAPI: who was about to
	// terminate the pod.
	Disruption string `json:"disruption,omitzero"`

	// Generation is metadata.generation, which counts versions of the spec from 1; binding the pod to a node does
	// not change it (registry/core/pod). It is 0 before Kubernetes 1.33, which does not count versions.
	Generation int64 `json:"generation,omitzero"`
	// KubeletGeneration is status.observedGeneration, which the kubelet sets since 1.33; 0 if not set.
	KubeletGeneration int64 `json:"kubelet_generation,omitzero"`
	// UnschedulableAt is when a scheduler last changed the condition PodScheduled, on the control plane's clock,
	// truncated to seconds (metadata.managedFields). A scheduler writes that condition only to report that it found
	// no node. Zero if it did not, or if FieldsManaged is false.
	UnschedulableAt time.Time `json:"unschedulable_at,omitzero"`
	// FieldsManaged says that the object had managed fields, so that an absent UnschedulableAt is evidence.
	FieldsManaged bool `json:"fields_managed,omitzero"`
	// HostNetwork says that the pod uses the node's network, so that no network plugin is called.
	HostNetwork bool `json:"host_network,omitzero"`
	// ResourceClaims says that the pod requests dynamically allocated resources, which a driver prepares after the
	// volumes are mounted and before the sandbox is created (kubelet, kuberuntime_manager.go).
	ResourceClaims bool `json:"resource_claims,omitzero"`
	// VolumeClaims says that the pod mounts persistent volumes by claims. A claim whose class binds late
	// (WaitForFirstConsumer) gets its volume between the scheduler's choice of a node and the binding.
	VolumeClaims bool `json:"volume_claims,omitzero"`
	// RemoteVolumes says that the pod mounts volumes that the kubelet does not serve itself, such as claims, CSI
	// volumes and file servers.
	RemoteVolumes bool `json:"remote_volumes,omitzero"`

	Phase          string      `json:"phase,omitzero"`  // Pending, Running, Succeeded, Failed
	Reason         string      `json:"reason,omitzero"` // status.reason, e.g. Evicted, OutOfcpu
	Conditions     []Condition `json:"conditions,omitempty"`
	ReadinessGates bool        `json:"readiness_gates,omitzero"`
	// Revision distinguishes versions of the owner: the pod-template-hash of a Deployment, the
	// controller-revision-hash of other owners that have one, the Job of a CronJob. Empty for other pods.
	Revision string `json:"revision,omitzero"`
	// TraceParent is the annotation traceparent, which the pod's creator may set to a W3C trace context. It is not
	// validated. Empty without the annotation.
	TraceParent string `json:"trace_parent,omitzero"`
	// Labels are the object's labels as text, sorted by key: key=value, joined by commas. Neither contains '=' or
	// ','.
	Labels string `json:"labels,omitzero"`
	// Containers are image volumes, then init containers and sidecars, then main containers, then ephemeral ones,
	// each in spec order.
	Containers []Container `json:"containers,omitempty"`
}

// Owner is the controller that owns the pod; zero for a bare pod.
type Owner struct {
	Kind string `json:"kind,omitzero"`
	Name string `json:"name,omitzero"`
}

// Condition is one status condition.
type Condition struct {
	// Type is PodScheduled, PodReadyToStartContainers, Initialized, ContainersReady, Ready, …
	Type         string    `json:"type"`
	True         bool      `json:"true,omitzero"`
	TransitionAt time.Time `json:"transition_at,omitzero"`
}

// ContainerKind is the role of a container in a pod.
type ContainerKind string

// The kinds of container.
const (
	KindInit      ContainerKind = "init"
	KindSidecar   ContainerKind = "sidecar" // restartable init container
	KindMain      ContainerKind = "main"
	KindEphemeral ContainerKind = "ephemeral"
	// KindImageVolume is not a container but the image of one or more volumes: it is pulled before the first
	// container, and nothing runs from it. Its name is its ImageName, because the kubelet reports nothing else.
	KindImageVolume ContainerKind = "image_volume"
)

// ContainerKinds lists every kind.
func ContainerKinds() []ContainerKind {
	return []ContainerKind{KindImageVolume, KindInit, KindSidecar, KindMain, KindEphemeral}
}

// ImageName is the name of an image that belongs to no container. No container can have that name.
func ImageName(ref string) string { return "image:" + ref }

// ContainerState is the state in a container's status.
type ContainerState string

// The states of a container. StateUnknown means that the status does not list the container yet.
const (
	StateUnknown    ContainerState = ""
	StateWaiting    ContainerState = "waiting"
	StateRunning    ContainerState = "running"
	StateTerminated ContainerState = "terminated"
)

// PullPolicy is a container's imagePullPolicy.
type PullPolicy string

// The pull policies. PullAlways asks the registry at every start even if the image is present.
const (
	PullAlways       PullPolicy = "Always"
	PullIfNotPresent PullPolicy = "IfNotPresent"
	PullNever        PullPolicy = "Never"
)

// Container is one container's spec and status in a pod object.
type Container struct {
	Name           string        `json:"name"`
	Kind           ContainerKind `json:"kind,omitzero"`
	Image          string        `json:"image,omitzero"` // as written in the spec
	PullPolicy     PullPolicy    `json:"pull_policy,omitzero"`
	StartupProbe   bool          `json:"startup_probe,omitzero"`
	ReadinessProbe bool          `json:"readiness_probe,omitzero"`
	PostStartHook  bool          `json:"post_start_hook,omitzero"`
	PreStopHook    bool          `json:"pre_stop_hook,omitzero"`
	RestartsAlways bool          `json:"restarts_always,omitzero"` // the kubelet restarts it whatever its exit code

	State ContainerState `json:"state,omitzero"`
	// e.g. ContainerCreating, ImagePullBackOff, CrashLoopBackOff
	WaitingReason string `json:"waiting_reason,omitzero"`
	// PullFailure is why the latest pull failed, if the container waits because of that.
	PullFailure imagepull.Failure `json:"pull_failure,omitzero"`
	// Attempt is status.restartCount: the number of the current run, from 0.
	Attempt    int       `json:"attempt,omitzero"`
	StartedAt  time.Time `json:"started_at,omitzero"`  // of the current run when running or terminated
	FinishedAt time.Time `json:"finished_at,omitzero"` // of the current run when terminated
	ExitCode   int       `json:"exit_code,omitzero"`   // of the current run when terminated
	// of the current run when terminated: Completed, Error, OOMKilled, …
	EndReason string `json:"end_reason,omitzero"`
	// startup probe passed, or no such probe; not used for init containers
	Started bool `json:"started,omitzero"`
	Ready   bool `json:"ready,omitzero"`
	LastRun *Run `json:"last_run,omitempty"` // the run before the current one, if the status has it
}

// Run is one finished run of a container.
type Run struct {
	StartedAt  time.Time `json:"started_at,omitzero"`
	FinishedAt time.Time `json:"finished_at,omitzero"`
	ExitCode   int       `json:"exit_code,omitzero"`
	Reason     string    `json:"reason,omitzero"` // the kubelet's reason: Completed, Error, OOMKilled, …
}

// has reports whether the spec has a container, or an image volume, of that name.
func (p *Pod) has(name string) bool {
	return slices.ContainsFunc(p.Containers, func(c Container) bool { return c.Name == name })
}
