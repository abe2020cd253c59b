package timeline

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// Pod is the part of a pod object that start-up timing needs. Instants are floored to a second, as
// the API server stores them; the zero time means absent.
type Pod struct {
	UID        string
	RuntimeUID string // UID that the kubelet and runtime use; differs from UID for static pods only
	Namespace  string
	Name       string
	Node       string
	Owner      Owner
	Traits     *Traits // nil where nobody needs them

	CreatedAt time.Time // metadata.creationTimestamp, control plane's clock
	// ReadAt is when the kubelet read the manifest of a static pod (the annotation kubernetes.io/config.seen),
	// exact, the kubelet's clock; zero for other pods. Its start-up begins there: the object in the API server is
	// a mirror that the kubelet makes later, often after the sandbox.
	ReadAt         time.Time
	AcknowledgedAt time.Time // status.startTime, the kubelet's clock
	DeletedAt      time.Time // metadata.deletionTimestamp less its grace period: when deletion was asked for
	// DeletionGrace is metadata.deletionGracePeriodSeconds; the kubelet sets it to 0 when it lets go of the object. It and the three
	// below are set only once deletion was asked for, and only where ends are followed.
	DeletionGrace time.Duration
	// DeletionObserved says that the status is by a kubelet that knows of the deletion: its observedGeneration is that of the
	// object, which the deletion has raised. Kubernetes before 1.34 does not tell.
	DeletionObserved bool
	// Finalizers says that the object has some, which hold it when the kubelet has let go of it.
	Finalizers bool
	// Disruption is the reason of the condition DisruptionTarget, e.g. EvictionByEvictionAPI: who was about to end the pod.
	Disruption string

	// Generation is metadata.generation, which counts versions of the spec from 1; binding the pod to a node does not
	// change it (registry/core/pod). 0 before Kubernetes 1.33, which does not count.
	Generation int64
	// KubeletGeneration is status.observedGeneration, which the kubelet sets since 1.33; 0 when it is not set.
	KubeletGeneration int64
	// UnschedulableAt is when a scheduler last changed the condition PodScheduled, floored to a second, control plane's
	// clock (metadata.managedFields). A scheduler writes that condition only to say that it found no node. Zero when
	// it did not, or when FieldsManaged is false.
	UnschedulableAt time.Time
	// FieldsManaged says that the object had managed fields, so that an absent UnschedulableAt proves something.
	FieldsManaged bool
	// HostNetwork says that the pod uses the node's network: no network plugin is called for it.
	HostNetwork bool
	// ResourceClaims says that the pod asks for dynamically allocated resources, which a driver prepares after the
	// volumes are mounted and before the sandbox is made (kubelet, kuberuntime_manager.go).
	ResourceClaims bool
	// VolumeClaims says that the pod mounts persistent volumes by their claims. A claim whose class binds it late
	// (WaitForFirstConsumer) is only then given a volume, between the scheduler's choice of a node and the binding.
	VolumeClaims bool
	// RemoteVolumes says that the pod mounts volumes that others than the kubelet serve, as claims, CSI drivers and file servers do.
	RemoteVolumes bool

	Phase          string // Pending, Running, Succeeded, Failed
	Reason         string // status.reason, e.g. Evicted, OutOfcpu
	Conditions     []Condition
	ReadinessGates bool
	// Revision tells the owner's versions apart, in its own word: the pod-template-hash of a Deployment, the
	// controller-revision-hash of others that have one, the Job of a CronJob. Empty for other pods.
	Revision string
	// TraceParent is the annotation traceparent, which whoever made the pod may have set to a W3C trace context;
	// not validated. Empty without it.
	TraceParent string
	// Labels are those of the object, as text in the order of their keys: key=value, joined by commas. Neither holds '=' or ','.
	Labels string
	// Containers are image volumes, then init containers and sidecars, then main, then ephemeral ones, each
	// in spec order.
	Containers []Container
}

// Owner is the controller that owns the pod; zero for a bare pod.
type Owner struct{ Kind, Name string }

// Condition is one status condition.
type Condition struct {
	Type         string // PodScheduled, PodReadyToStartContainers, Initialized, ContainersReady, Ready, …
	True         bool
	TransitionAt time.Time
}

// ContainerKind tells the roles a container can have in a pod.
type ContainerKind string

// The kinds of container.
const (
	KindInit      ContainerKind = "init"
	KindSidecar   ContainerKind = "sidecar" // restartable init container
	KindMain      ContainerKind = "main"
	KindEphemeral ContainerKind = "ephemeral"
	// KindImageVolume is no container but the image of one or more volumes: it is pulled before the first
	// container, and nothing is run from it. Its name is its ImageName, as all that the kubelet tells of it.
	KindImageVolume ContainerKind = "image_volume"
)

// ContainerKinds lists every kind.
func ContainerKinds() []ContainerKind {
	return []ContainerKind{KindImageVolume, KindInit, KindSidecar, KindMain, KindEphemeral}
}

// ImageName is what an image goes by where no container does, which no container's name can be.
func ImageName(ref string) string { return "image:" + ref }

// ContainerState is the state in a container's status.
type ContainerState string

// The states of a container; StateUnknown when the status does not list it yet.
const (
	StateUnknown    ContainerState = ""
	StateWaiting    ContainerState = "waiting"
	StateRunning    ContainerState = "running"
	StateTerminated ContainerState = "terminated"
)

// PullPolicy is a container's imagePullPolicy.
type PullPolicy string

// The pull policies; PullAlways asks the registry at every start even when the image is present.
const (
	PullAlways       PullPolicy = "Always"
	PullIfNotPresent PullPolicy = "IfNotPresent"
	PullNever        PullPolicy = "Never"
)

// Container is one container's spec and status in a pod object.
type Container struct {
	Name           string
	Kind           ContainerKind
	Image          string // as written in the spec
	PullPolicy     PullPolicy
	StartupProbe   bool
	ReadinessProbe bool
	PostStartHook  bool
	PreStopHook    bool
	RestartsAlways bool // the kubelet starts it again whatever its exit code is

	State         ContainerState
	WaitingReason string // e.g. ContainerCreating, ImagePullBackOff, CrashLoopBackOff
	// PullFailure is why the latest pull failed, of a container that waits because of that.
	PullFailure imagepull.Failure
	Attempt     int       // status.restartCount: number of the current run, from 0
	StartedAt   time.Time // of the current run when running or terminated
	FinishedAt  time.Time // of the current run when terminated
	ExitCode    int       // of the current run when terminated
	EndReason   string    // of the current run when terminated: Completed, Error, OOMKilled, …
	Started     bool      // startup probe passed, or none; for init containers never of interest
	Ready       bool
	LastRun     *Run // the run before the current one, when the status has it
}

// Run is one finished run of a container.
type Run struct {
	StartedAt, FinishedAt time.Time
	ExitCode              int
	Reason                string // in the kubelet's word: Completed, Error, OOMKilled, …
}

// has says that the spec has a container, or an image volume, of that name.
func (p *Pod) has(name string) bool {
	return slices.ContainsFunc(p.Containers, func(c Container) bool { return c.Name == name })
}
