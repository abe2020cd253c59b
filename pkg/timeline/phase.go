package timeline

import "slices"

// Phase is a named part of a start-up between two neighboring milestones.
type Phase string

// Cause is the party that is responsible for a phase.
type Cause string

// The phases, in the order of a start-up.
const (
	PhaseSchedulingGate  Phase = "scheduling_gate"
	PhaseUnschedulable   Phase = "unschedulable"
	PhaseScheduling      Phase = "scheduling"
	PhaseKubeletPickup   Phase = "kubelet_pickup"
	PhaseAPIServer       Phase = "api_server"
	PhasePodConfig       Phase = "pod_config"
	PhaseVolumes         Phase = "volumes"
	PhaseDevice          Phase = "device"
	PhaseNetwork         Phase = "network"
	PhaseSandboxImage    Phase = "sandbox_image"
	PhaseSandbox         Phase = "sandbox"
	PhaseSandboxSetup    Phase = "sandbox_setup" // several of the phases from PhaseVolumes to PhaseSandbox
	PhaseKubeletSync     Phase = "kubelet_sync"
	PhasePullQueue       Phase = "pull_queue"
	PhasePull            Phase = "pull"
	PhaseUnpack          Phase = "unpack"
	PhaseImagePull       Phase = "image_pull" // PhasePull and PhaseUnpack
	PhaseImageBackoff    Phase = "image_backoff"
	PhaseContainerConfig Phase = "container_config"
	PhaseContainerCreate Phase = "container_create"
	PhaseContainerStart  Phase = "container_start"
	PhaseInitRun         Phase = "init_run"
	PhasePostStartHook   Phase = "post_start_hook"
	PhaseFailedRun       Phase = "failed_run"
	PhaseSandboxLost     Phase = "sandbox_lost"
	PhaseCrashBackoff    Phase = "crash_backoff"
	PhaseStartupProbe    Phase = "startup_probe"
	PhaseReadinessProbe  Phase = "readiness_probe"
	PhaseReadinessGates  Phase = "readiness_gates"
	PhaseUnattributed    Phase = "unattributed"
)

// The causes.
const (
	CausePlacement Cause = "placement" // no node meets the pod's requirements
	CauseScheduler Cause = "scheduler"
	CauseKubelet   Cause = "kubelet"
	CauseAPIServer Cause = "api_server"
	CauseVolumes   Cause = "volumes"
	CauseDevice    Cause = "device" // the driver of a dynamically allocated resource
	CauseNetwork   Cause = "network"
	CauseConfig    Cause = "config"
	CauseRuntime   Cause = "runtime"
	CausePullQueue Cause = "pull_queue"
	CauseRegistry  Cause = "registry"
	CauseDisk      Cause = "disk"
	CauseApp       Cause = "app"
	CauseGate      Cause = "gate" // the owner of a scheduling gate or of a readiness gate
	CauseBackoff   Cause = "backoff"
	CauseUnknown   Cause = "unknown"

	// The causes of group phases. A group phase stands for several phases (see IsGroup).
	CauseSandboxSetup Cause = "sandbox_setup"
	CauseImagePull    Cause = "image_pull"
)

// subject says whether the text of a phase names a registry, a container or nothing.
type subject uint8

const (
	aboutNothing subject = iota
	aboutRegistry
	aboutContainer
)

// phaseRow holds the name, the cause and the texts of a phase.
type phaseRow struct {
	phase   Phase
	cause   Cause  // the party that is responsible for the phase
	text    string // the text in the verdict, with a %s for the name of the registry or container
	about   subject
	meaning string // one sentence about the phase for the web page
}

// phaseTable has one row for each phase, in the order of the constants above.
var phaseTable = []phaseRow{
	{PhaseSchedulingGate, CauseGate, "waiting for its scheduling gates", aboutNothing,
		"A scheduling gate holds the pod."},
	{PhaseUnschedulable, CausePlacement, "waiting for a node that fits", aboutNothing,
		"The scheduler finds no suitable node."},
	{PhaseScheduling, CauseScheduler, "waiting for the scheduler", aboutNothing,
		"From creation until the scheduler chose a node."},
	{PhaseKubeletPickup, CauseKubelet, "until the kubelet picked up the pod", aboutNothing,
		"From scheduling until the kubelet acknowledged the pod."},
	{PhaseAPIServer, CauseAPIServer, "until the kubelet could read from the API server", aboutNothing,
		"The kubelet cannot read objects that the pod needs from the API server."},
	{PhasePodConfig, CauseConfig, "waiting for the pod's configuration", aboutNothing,
		"A ConfigMap, Secret or runtime class of the pod is missing, or its memory limit is too low for a sandbox."},
	{PhaseVolumes, CauseVolumes, "volumes", aboutNothing,
		"The kubelet mounts volumes before it requests the sandbox."},
	{PhaseDevice, CauseDevice, "preparing dynamic resources", aboutNothing,
		"A driver prepares a dynamically allocated resource."},
	{PhaseNetwork, CauseNetwork, "network", aboutNothing,
		"The network plugin sets up the sandbox, or the network of the node is not ready."},
	{PhaseSandboxImage, CauseRegistry, "pulling the sandbox (pause) image", aboutNothing,
		"The runtime pulls the sandbox (pause) image."},
	{PhaseSandbox, CauseRuntime, "sandbox", aboutNothing,
		"The runtime starts the sandbox."},
	{PhaseSandboxSetup, CauseSandboxSetup, "setting up the sandbox", aboutNothing,
		"Volumes, network or sandbox: no evidence separates them."},
	{PhaseKubeletSync, CauseKubelet, "kubelet between steps", aboutNothing,
		"The kubelet is between two steps."},
	{PhasePullQueue, CausePullQueue, "in the node's pull queue", aboutNothing,
		"The kubelet waits for other pulls on the node before it pulls the image."},
	{PhasePull, CauseRegistry, "pulling from %s", aboutRegistry,
		"The runtime downloads the image from the registry or its mirror."},
	{PhaseUnpack, CauseDisk, "unpacking", aboutNothing,
		"The download is complete, but the runtime is still unpacking."},
	{PhaseImagePull, CauseImagePull, "pulling from %s, unpacking included", aboutRegistry,
		"Pull or unpacking: no evidence separates them."},
	{PhaseImageBackoff, CauseBackoff, "image pull back-off", aboutNothing,
		"A pull failed, and the kubelet waits before it retries."},
	{PhaseContainerConfig, CauseConfig, "waiting for the configuration of %s", aboutContainer,
		"The kubelet cannot create the container as configured."},
	{PhaseContainerCreate, CauseRuntime, "creating containers", aboutNothing,
		"The runtime creates the container."},
	{PhaseContainerStart, CauseRuntime, "starting containers", aboutNothing,
		"The runtime starts the container."},
	{PhaseInitRun, CauseApp, "running init container %s", aboutContainer,
		"An init container runs."},
	{PhasePostStartHook, CauseApp, "in the post-start hook of %s", aboutContainer,
		"The container runs, and the kubelet waits for its post-start hook."},
	{PhaseFailedRun, CauseApp, "in failed runs of %s", aboutContainer,
		"A run of the container ended before the pod was ready."},
	{PhaseSandboxLost, CauseRuntime, "replacing a lost sandbox", aboutNothing,
		"The sandbox died. The phase lasts until the next sandbox starts."},
	{PhaseCrashBackoff, CauseBackoff, "crash back-off of %s", aboutContainer,
		"A run failed, and the kubelet waits before it restarts the container."},
	{PhaseStartupProbe, CauseApp, "until %s had started", aboutContainer,
		"The container runs, but its startup probe has not passed yet."},
	{PhaseReadinessProbe, CauseApp, "until %s was ready", aboutContainer,
		"The container runs, but its readiness probe has not passed yet."},
	{PhaseReadinessGates, CauseGate, "readiness gates", aboutNothing,
		"The containers are ready, but a readiness gate is not."},
	{PhaseUnattributed, CauseUnknown, "unattributed", aboutNothing,
		"No evidence shows the cause of this time."},
}

// IsGroup reports whether a phase stands for several phases that the evidence cannot separate. For a span with a group
// phase, Span.MergedWith lists all possible phases. If no other group phase stands for all possible phases of a span,
// the span has the phase PhaseUnattributed.
func (p Phase) IsGroup() bool {
	return p == PhaseUnattributed || p == PhaseSandboxSetup || p == PhaseImagePull
}

func (p Phase) isUnattributed() bool { return p == PhaseUnattributed }

// phaseGroups lists the group phases other than PhaseUnattributed, and the phases of each group.
var phaseGroups = [...]phaseGroup{
	{PhaseSandboxSetup, []Phase{PhaseVolumes, PhaseDevice, PhaseNetwork, PhaseSandboxImage, PhaseSandbox}},
	{PhaseImagePull, []Phase{PhasePull, PhaseUnpack}},
}

type phaseGroup struct {
	name    Phase
	members []Phase
}

// groupOf returns the group phase that contains all given phases. If no group contains all given phases, groupOf
// returns PhaseUnattributed.
func groupOf(phases []Phase) Phase {
	for _, g := range phaseGroups {
		if !slices.ContainsFunc(phases, func(p Phase) bool { return !slices.Contains(g.members, p) }) {
			return g.name
		}
	}
	return PhaseUnattributed
}

// MembersOf returns the phases that a group phase stands for. The result is empty for PhaseUnattributed, and for a
// phase that is not a group.
func MembersOf(p Phase) []Phase {
	for _, g := range phaseGroups {
		if g.name == p {
			return slices.Clone(g.members)
		}
	}
	return nil
}

// Phases returns every phase in the order of a start-up.
func Phases() []Phase {
	phases := make([]Phase, len(phaseTable))
	for i, row := range phaseTable {
		phases[i] = row.phase
	}
	return phases
}

// CauseOf returns the party that is responsible for a phase.
func CauseOf(p Phase) Cause { return rowOf(p).cause }

// MeaningOf returns one sentence about the meaning of a phase.
func MeaningOf(p Phase) string { return rowOf(p).meaning }

// rowOf returns the row of a phase. For an unknown phase, rowOf returns the row of PhaseUnattributed.
func rowOf(p Phase) *phaseRow {
	for i := range phaseTable {
		if row := &phaseTable[i]; row.phase == p {
			return row
		}
	}
	return &phaseTable[len(phaseTable)-1]
}
