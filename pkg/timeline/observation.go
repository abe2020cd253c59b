package timeline

import (
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// Source names who made an observation. The values appear in records and metric labels.
type Source string

// The sources of a node agent.
const (
	SourcePodWatch   Source = "pod_watch"   // pod objects from the API server
	SourceEventWatch Source = "event_watch" // kubelet's Events from the API server
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
	Message   string    // as kubelet wrote it; of more than 1 KiB the middle is left out
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

// Pod is the part of a pod object that start-up timing needs. Instants are floored to a second, as
// the API server stores them; the zero time means absent.
type Pod struct {
	UID        string
	RuntimeUID string // UID that kubelet and runtime use; differs from UID for static pods only
	Namespace  string
	Name       string
	Node       string
	Owner      Owner
	Traits     *Traits // nil where nobody needs them

	CreatedAt time.Time // metadata.creationTimestamp, control plane's clock
	// ReadAt is when kubelet read the manifest of a static pod (the annotation kubernetes.io/config.seen),
	// exact, kubelet's clock; zero for other pods. Its start-up begins there: the object in the API server is
	// a mirror that kubelet makes later, often after the sandbox.
	ReadAt         time.Time
	AcknowledgedAt time.Time // status.startTime, kubelet's clock
	DeletedAt      time.Time // metadata.deletionTimestamp less its grace period: when deletion was asked for
	// DeletionGrace is metadata.deletionGracePeriodSeconds; kubelet sets it to 0 when it lets go of the object. It and the three
	// below are set only once deletion was asked for, and only where ends are followed.
	DeletionGrace time.Duration
	// DeletionObserved says that the status is by a kubelet that knows of the deletion: its observedGeneration is that of the
	// object, which the deletion has raised. Kubernetes before 1.34 does not tell.
	DeletionObserved bool
	// Finalizers says that the object has some, which hold it when kubelet has let go of it.
	Finalizers bool
	// Disruption is the reason of the condition DisruptionTarget, e.g. EvictionByEvictionAPI: who was about to end the pod.
	Disruption string

	// Generation is metadata.generation, which counts versions of the spec from 1; binding the pod to a node does not
	// change it (registry/core/pod). 0 before Kubernetes 1.33, which does not count.
	Generation int64
	// KubeletGeneration is status.observedGeneration, which kubelet sets since 1.33; 0 when it is not set.
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
	// RemoteVolumes says that the pod mounts volumes that others than kubelet serve, as claims, CSI drivers and file servers do.
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
	// container, and nothing is run from it. Its name is its ImageName, as all that kubelet tells of it.
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
	RestartsAlways bool // kubelet starts it again whatever its exit code is

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
	Reason                string // in kubelet's word: Completed, Error, OOMKilled, …
}

// Sandbox is one pod sandbox in the runtime. Stamps are exact instants on the node's clock; the
// zero time means that this runtime does not tell.
type Sandbox struct {
	ID      string
	Attempt int
	Ready   bool
	// BegunAt is when the runtime was asked for the sandbox (containerd ≥ 2.0: the sandbox store's
	// created_at).
	BegunAt time.Time
	// NetworkReadyAt is when the network was set up (containerd ≥ 2.0: CRI created_at, taken when the
	// sandbox container is created, which is after the CNI plugins returned).
	NetworkReadyAt time.Time
	// ImageResolvedAt and ImagePulledAt are when the manifest of the sandbox (pause) image came to the node, and when
	// the latest pull of that image ended, if that was after BegunAt and before NetworkReadyAt: containerd 2.x pulls
	// an absent one in between, after it set up the network. Zero otherwise.
	ImageResolvedAt, ImagePulledAt time.Time
	// ImageKnown says that the runtime said whether it pulled the sandbox image in between.
	ImageKnown bool
	// RunningAt is when the sandbox ran (containerd ≥ 2.0: the sandbox store's updated_at, last
	// written after the sandbox container was started; only meaningful when Ready).
	RunningAt time.Time
	// CreatedAt is CRI's created_at where its place among the three above is not known.
	CreatedAt time.Time
}

// ContainerRun is one run of a container in the runtime. Stamps are exact instants on the node's
// clock; the zero time means not yet.
type ContainerRun struct {
	Name       string
	ID         string
	Attempt    int // kubelet's restart count, from the container's annotation
	CreatedAt  time.Time
	StartedAt  time.Time
	FinishedAt time.Time
	ExitCode   int
	Reason     string // once finished, in the runtime's word: Completed, Error, OOMKilled, …
}

// Image says whether an image is on the node.
type Image struct {
	Ref     string // as written in the spec
	Present bool
	// FirstPulledAt and PulledAt are when the first and the latest pull of this reference ended
	// (containerd: the image store's created_at and updated_at); zero when the runtime does not tell.
	FirstPulledAt time.Time
	PulledAt      time.Time
	SizeBytes     int64  // compressed in containerd, uncompressed in CRI-O; 0 when unknown
	Digest        string // repository digest, e.g. sha256:…; empty when unknown
	// ResolvedAt is when the image's manifest, or its index, came to the node for the first time (containerd:
	// created_at of the image's target in the content store): soon after the first pull began. Zero
	// unless LookUp.Layers asked for it.
	ResolvedAt time.Time
	Layers     []Layer // the bottom one first; empty unless LookUp.Layers asked for it
	Layered    bool    // LookUp.Layers asked for it, whatever the runtime could tell
	Untold     bool    // some of that was not told in time: another answer may have it
}

// Layer is one layer of an image in containerd's stores. Stamps are exact instants on the node's clock; the
// zero time means that the runtime does not tell, or does not have it any more.
type Layer struct {
	Digest       string    // of the blob as the registry has it, e.g. sha256:…
	SizeBytes    int64     // of that blob; 0 when unknown
	DownloadedAt time.Time // the blob was complete (content store: created_at)
	UnpackedAt   time.Time // the layer was complete on the disk (snapshotter: created_at of the committed snapshot)
	// Remote says that the snapshotter mounted the layer from the registry in place of unpacking it (stargz, SOCI,
	// nydus, overlaybd): its content comes when it is read, while the container runs. UnpackedAt is when it was
	// mounted.
	Remote bool
}

// Wants is the evidence that one pod's timeline lacks and a source could fetch now.
type Wants struct {
	Runtime bool     // ask the runtime about the pod
	Images  []string // when asking: also whether these references, as written in the spec, are present
	Layers  []string // when asking: those of Images whose layers are wanted as well
	Network bool     // when asking: also whether the runtime's network is ready
	Events  bool     // keep an Event watch open for the pod
}

// LookUp is one question to the runtime.
type LookUp struct {
	UID        string // the pod object's UID, to be repeated in the answer
	RuntimeUID string // the UID the runtime knows the pod by
	Images     []string
	Layers     []string // those of Images whose layers are wanted as well
	Network    bool     // whether the runtime's network is ready is wanted as well
}

// EventWatch names the pod whose kubelet Events are wanted.
type EventWatch struct {
	UID         string // the pod object's UID, to be repeated in observations
	InvolvedUID string // involvedObject.uid: for static pods the kubelet's UID
	Namespace   string
	Name        string
}
