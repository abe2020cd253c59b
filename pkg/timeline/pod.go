package timeline

import (
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// Pod is the part of a pod object that start-up timing needs. All times except ReadAt are truncated to seconds, because
// the API server stores only whole seconds. A zero time means that the object does not contain the time.
type Pod struct {
	UID string `json:"uid"`
	// RuntimeUID is the pod's UID in the kubelet and in the runtime. RuntimeUID differs from UID only for static pods.
	RuntimeUID string  `json:"runtime_uid,omitzero"`
	Namespace  string  `json:"namespace,omitzero"`
	Name       string  `json:"name,omitzero"`
	Node       string  `json:"node,omitzero"`
	Owner      Owner   `json:"owner,omitzero"`
	Traits     *Traits `json:"traits,omitempty"` // nil if no record needs the traits

	CreatedAt time.Time `json:"created_at,omitzero"` // metadata.creationTimestamp, on the control plane's clock
	// ReadAt is the time when the kubelet read the manifest of a static pod (the annotation kubernetes.io/config.seen).
	// ReadAt is exact and on the kubelet's clock. ReadAt is zero if the pod is not static. A static pod's start-up
	// begins at ReadAt. The kubelet creates the object in the API server later, often after it has created the sandbox.
	ReadAt         time.Time `json:"read_at,omitzero"`
	AcknowledgedAt time.Time `json:"acknowledged_at,omitzero"` // status.startTime, on the kubelet's clock
	// DeletedAt is the time of the deletion request: metadata.deletionTimestamp minus the grace period.
	DeletedAt time.Time `json:"deleted_at,omitzero"`
	// DeletionGrace is metadata.deletionGracePeriodSeconds. The kubelet sets the grace period to 0 when it lets the API
	// server remove the object. DeletionGrace, DeletionObserved, Finalizers and Disruption are set only after a
	// deletion request, and only if the agent follows terminations.
	DeletionGrace time.Duration `json:"deletion_grace,omitzero"`
	// DeletionObserved is true if the kubelet knew about the deletion request when it wrote the status. A deletion
	// request increases metadata.generation. So DeletionObserved is true if status.observedGeneration is equal to
	// metadata.generation. If the kubelet does not set status.observedGeneration, DeletionObserved is always false.
	DeletionObserved bool `json:"deletion_observed,omitzero"`
	// Finalizers is true if the object has finalizers. Finalizers keep the object even after the kubelet lets the API
	// server remove it.
	Finalizers bool `json:"finalizers,omitzero"`
	// Disruption is the reason of the condition DisruptionTarget, for example EvictionByEvictionAPI. The reason names
	// the component that terminates the pod.
	Disruption string `json:"disruption,omitzero"`

	// Generation is metadata.generation, which counts the versions of the spec from 1. The binding of a pod to a node
	// does not change the generation (registry/core/pod). Generation is 0 before Kubernetes 1.33, because earlier API
	// servers do not set the field for pods.
	Generation int64 `json:"generation,omitzero"`
	// KubeletGeneration is status.observedGeneration. By default, kubelets of version 1.34 and later set this field.
	// Kubelet 1.33 sets the field only with the feature gate PodObservedGenerationTracking. KubeletGeneration is 0 if
	// the kubelet did not set the field.
	KubeletGeneration int64 `json:"kubelet_generation,omitzero"`
	// UnschedulableAt is the time when a scheduler last changed the condition PodScheduled (metadata.managedFields).
	// UnschedulableAt is on the control plane's clock and truncated to seconds. A scheduler writes the condition
	// PodScheduled only to report that it found no node. UnschedulableAt is zero if no scheduler changed the condition,
	// or if FieldsManaged is false.
	UnschedulableAt time.Time `json:"unschedulable_at,omitzero"`
	// FieldsManaged is true if the object had managed fields. If FieldsManaged is false, UnschedulableAt is zero but
	// proves nothing.
	FieldsManaged bool `json:"fields_managed,omitzero"`
	// ScheduledByKubelet is true if the kubelet wrote the whole condition PodScheduled (metadata.managedFields). When a
	// scheduler binds a pod, the API server writes this condition. The kubelet writes the condition only if the
	// condition is absent.
	ScheduledByKubelet bool `json:"scheduled_by_kubelet,omitzero"`
	// FailedBy is the latest possible time when the phase became Failed. FailedBy is the time of the latest status
	// change by the client that sets status.phase (metadata.managedFields). FailedBy is on the control plane's clock
	// and truncated to seconds. FailedBy is zero if the phase is not Failed, or if the object has no managed fields.
	FailedBy time.Time `json:"failed_by,omitzero"`
	// HostNetwork is true if the pod uses the node's network. For a pod on the node's network, the runtime calls no
	// network plugin.
	HostNetwork bool `json:"host_network,omitzero"`
	// ResourceClaims is true if the pod requests dynamically allocated resources. A driver prepares dynamically
	// allocated resources after the volumes are mounted and before the sandbox is created (kubelet,
	// kuberuntime_manager.go).
	ResourceClaims bool `json:"resource_claims,omitzero"`
	// VolumeClaims is true if the pod mounts persistent volumes by claims. If a claim's storage class uses
	// WaitForFirstConsumer, the scheduler first chooses a node for the pod. Then the claim gets its volume, and after
	// that, the scheduler binds the pod to the node.
	VolumeClaims bool `json:"volume_claims,omitzero"`
	// RemoteVolumes is true if the pod mounts a volume that needs a component other than the kubelet. Examples are
	// claims, CSI volumes, and volumes on file servers.
	RemoteVolumes bool `json:"remote_volumes,omitzero"`
	// PullSecrets is true if the pod names Secrets with registry credentials (spec.imagePullSecrets).
	PullSecrets bool `json:"pull_secrets,omitzero"`

	Phase          string      `json:"phase,omitzero"`  // Pending, Running, Succeeded, Failed
	Reason         string      `json:"reason,omitzero"` // status.reason, e.g. Evicted, OutOfcpu
	Conditions     []Condition `json:"conditions,omitempty"`
	ReadinessGates bool        `json:"readiness_gates,omitzero"`
	// Revision identifies the version of the owner: the pod-template-hash of a Deployment, the Job of a CronJob, or the
	// controller-revision-hash of other owners. Revision is empty if the pod has none of these values.
	Revision string `json:"revision,omitzero"`
	// TraceParent is the value of the annotation traceparent, in which the pod's creator can store a W3C trace context.
	// The agent does not validate the value. TraceParent is empty without the annotation.
	TraceParent string `json:"trace_parent,omitzero"`
	// Labels holds the object's labels as text, sorted by key. The format is key=value, joined by commas. Keys and
	// values contain neither '=' nor ','.
	Labels string `json:"labels,omitzero"`
	// Containers lists image volumes, then init containers and sidecars, then main containers, then ephemeral
	// containers. Each group is in spec order.
	Containers []Container `json:"containers,omitempty"`
}

// Owner is the controller that owns the pod. Owner is zero for a pod without an owner.
type Owner struct {
	Kind string `json:"kind,omitzero"`
	Name string `json:"name,omitzero"`
}

// Condition is one status condition of a pod.
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
	// KindImageVolume stands for the image of one or more volumes, and not for a container. The kubelet pulls this
	// image before it starts the first container. No container runs from this image. For an image volume,
	// Container.Name is the result of ImageName, because the kubelet reports no other name.
	KindImageVolume ContainerKind = "image_volume"
)

// ContainerKinds returns every kind.
func ContainerKinds() []ContainerKind {
	return []ContainerKind{KindImageVolume, KindInit, KindSidecar, KindMain, KindEphemeral}
}

// ImageName returns a name for an image that belongs to no container. No container can have this name, because
// container names contain no colon.
func ImageName(ref string) string { return imagePrefix + ref }

const imagePrefix = "image:"

// isImageName reports whether a name belongs to an image instead of a container.
func isImageName(name string) bool { return strings.HasPrefix(name, imagePrefix) }

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

// With PullAlways, the kubelet asks the registry before every start of the container, even if the node has the image.
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
	LivenessProbe  bool          `json:"liveness_probe,omitzero"`
	PostStartHook  bool          `json:"post_start_hook,omitzero"`
	PreStopHook    bool          `json:"pre_stop_hook,omitzero"`
	// StartupTiming is zero without a startup probe, and ReadinessTiming is zero without a readiness probe.
	StartupTiming   ProbeTiming `json:"startup_timing,omitzero"`
	ReadinessTiming ProbeTiming `json:"readiness_timing,omitzero"`
	// MemoryLimited is true if the container or its pod has a memory limit.
	MemoryLimited bool `json:"memory_limited,omitzero"`
	// RestartsAlways is true if the kubelet restarts the container after any exit code.
	RestartsAlways bool `json:"restarts_always,omitzero"`
	// RestartsNever is true if the kubelet never restarts the container, whatever the exit code.
	RestartsNever bool `json:"restarts_never,omitzero"`

	State ContainerState `json:"state,omitzero"`
	// WaitingReason is the reason why the container waits, for example ContainerCreating, ImagePullBackOff or
	// CrashLoopBackOff.
	WaitingReason string `json:"waiting_reason,omitzero"`
	// Misconfigured is true if the container waits because of its configuration. The kubelet's message then proves that
	// a value is wrong, or that a value refers to an object that does not exist. See IsConfigError.
	Misconfigured bool `json:"misconfigured,omitzero"`
	// If the container waits because its latest pull failed, PullFailure is the reason of the failure.
	PullFailure imagepull.Failure `json:"pull_failure,omitzero"`
	// Attempt is the number of the current run, counted from 0 (restartCount in the container's status).
	Attempt    int       `json:"attempt,omitzero"`
	StartedAt  time.Time `json:"started_at,omitzero"`  // start of the current run, if running or terminated
	FinishedAt time.Time `json:"finished_at,omitzero"` // end of the current run, if terminated
	ExitCode   int       `json:"exit_code,omitzero"`   // exit code of the current run, if terminated
	// EndReason is the reason why the current run ended, if terminated: Completed, Error, OOMKilled, …
	EndReason string `json:"end_reason,omitzero"`
	// Started is true if the startup probe passed, or if the container has no startup probe. Started is not used for
	// init containers.
	Started bool `json:"started,omitzero"`
	Ready   bool `json:"ready,omitzero"`
	LastRun *Run `json:"last_run,omitempty"` // the previous run; nil if the status does not contain it
}

// Run is one finished run of a container.
type Run struct {
	StartedAt  time.Time `json:"started_at,omitzero"`
	FinishedAt time.Time `json:"finished_at,omitzero"`
	ExitCode   int       `json:"exit_code,omitzero"`
	Reason     string    `json:"reason,omitzero"` // the kubelet's reason: Completed, Error, OOMKilled, …
}

// has reports whether the spec contains a container or an image volume with the given name.
func (p *Pod) has(name string) bool {
	return slices.ContainsFunc(p.Containers, func(c Container) bool { return c.Name == name })
}

// endReason returns the reason why the failed containers of a pod ended, for example StartError. The result is empty if
// these containers have no reason or different reasons. The result is also empty for the general reasons Error and
// Unknown.
func (p *Pod) endReason() string {
	var reasons []string
	for _, c := range p.Containers {
		if c.State == StateTerminated && c.ExitCode != 0 {
			reasons = append(reasons, c.EndReason)
		}
	}
	slices.Sort(reasons)
	if reasons = slices.Compact(reasons); len(reasons) != 1 || reasons[0] == "Error" || reasons[0] == "Unknown" {
		return ""
	}
	return reasons[0]
}
