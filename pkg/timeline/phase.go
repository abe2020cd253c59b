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

// phaseTraits is a set of facts about a phase.
type phaseTraits uint8

const (
	// beforeSandbox means that the runtime starts the sandbox after the phase.
	beforeSandbox phaseTraits = 1 << iota
	// beforeContainer means that the runtime can create a container after the phase.
	beforeContainer
	// waitsForOthers means that the end of the phase can depend on something outside the pod.
	waitsForOthers
	// finalWait means that the phase can follow the kubelet's last work in a start-up.
	finalWait
)

// phaseRow holds the name, the cause, the traits and the texts of a phase.
type phaseRow struct {
	phase    Phase
	cause    Cause // the party that is responsible for the phase
	traits   phaseTraits
	text     string // the text in the verdict, with a %s for the name of the registry or container
	about    subject
	activity string // what pods do in the phase; the text must fit many start-ups
	meaning  string // one sentence about the phase for the web page
}

// phaseTable has one row for each phase, in the order of the constants above.
var phaseTable = []phaseRow{
	{PhaseSchedulingGate, CauseGate, waitsForOthers,
		"waiting for its scheduling gates", aboutNothing,
		"waiting for scheduling gates",
		"A scheduling gate holds the pod."},
	{PhaseUnschedulable, CausePlacement, waitsForOthers,
		"waiting for a node that fits", aboutNothing,
		"waiting for a node that fits",
		"The scheduler finds no suitable node."},
	{PhaseScheduling, CauseScheduler, 0,
		"waiting for the scheduler", aboutNothing,
		"waiting for the scheduler",
		"From creation until the scheduler chose a node."},
	{PhaseKubeletPickup, CauseKubelet, beforeSandbox,
		"until the kubelet picked up the pod", aboutNothing,
		"until the kubelet picked up the pod",
		"From scheduling until the kubelet acknowledged the pod."},
	{PhaseAPIServer, CauseAPIServer, beforeSandbox | waitsForOthers,
		"until the kubelet could read from the API server", aboutNothing,
		"until the kubelet could read from the API server",
		"The kubelet cannot read objects that the pod needs from the API server."},
	{PhasePodConfig, CauseConfig, beforeSandbox | waitsForOthers,
		"waiting for the pod's configuration", aboutNothing,
		"waiting for the pod's configuration",
		"A ConfigMap, Secret or runtime class of the pod is missing, or its memory limit is too low for a sandbox."},
	{PhaseVolumes, CauseVolumes, beforeSandbox,
		"volumes", aboutNothing,
		"mounting volumes",
		"The kubelet mounts volumes before it requests the sandbox."},
	{PhaseDevice, CauseDevice, beforeSandbox,
		"preparing dynamic resources", aboutNothing,
		"preparing dynamic resources",
		"A driver prepares a dynamically allocated resource."},
	{PhaseNetwork, CauseNetwork, beforeSandbox,
		"network", aboutNothing,
		"setting up the network",
		"The network plugin sets up the sandbox, or the network of the node is not ready."},
	{PhaseSandboxImage, CauseRegistry, beforeSandbox,
		"pulling the sandbox (pause) image", aboutNothing,
		"pulling the sandbox (pause) image",
		"The runtime pulls the sandbox (pause) image."},
	{PhaseSandbox, CauseRuntime, 0,
		"sandbox", aboutNothing,
		"starting the sandbox",
		"The runtime starts the sandbox."},
	{PhaseSandboxSetup, CauseSandboxSetup, 0,
		"setting up the sandbox", aboutNothing,
		"setting up the sandbox",
		"Volumes, network or sandbox: no evidence separates them."},
	{PhaseKubeletSync, CauseKubelet, beforeContainer | finalWait,
		"kubelet between steps", aboutNothing,
		"in the kubelet between steps",
		"The kubelet is between two steps."},
	{PhasePullQueue, CausePullQueue, beforeContainer | waitsForOthers,
		"in the node's pull queue", aboutNothing,
		"in the node's pull queue",
		"The kubelet waits for other pulls on the node before it pulls the image."},
	{PhasePull, CauseRegistry, beforeContainer,
		"pulling from %s", aboutRegistry,
		"pulling",
		"The runtime downloads the image from the registry or its mirror."},
	{PhaseUnpack, CauseDisk, beforeContainer,
		"unpacking", aboutNothing,
		"unpacking",
		"The download is complete, but the runtime is still unpacking."},
	{PhaseImagePull, CauseImagePull, 0,
		"pulling from %s, unpacking included", aboutRegistry,
		"pulling and unpacking",
		"Pull or unpacking: no evidence separates them."},
	{PhaseImageBackoff, CauseBackoff, beforeContainer | waitsForOthers,
		"image pull back-off", aboutNothing,
		"in the image pull back-off",
		"A pull failed, and the kubelet waits before it retries."},
	{PhaseContainerConfig, CauseConfig, beforeContainer | waitsForOthers,
		"waiting for the configuration of %s", aboutContainer,
		"waiting for the configuration of containers",
		"The kubelet cannot create the container as configured."},
	{PhaseContainerCreate, CauseRuntime, 0,
		"creating containers", aboutNothing,
		"creating containers",
		"The runtime creates the container."},
	{PhaseContainerStart, CauseRuntime, 0,
		"starting containers", aboutNothing,
		"starting containers",
		"The runtime starts the container."},
	{PhaseInitRun, CauseApp, 0,
		"running init container %s", aboutContainer,
		"running init containers",
		"An init container runs."},
	{PhasePostStartHook, CauseApp, beforeContainer,
		"in the post-start hook of %s", aboutContainer,
		"in post-start hooks",
		"The container runs, and the kubelet waits for its post-start hook."},
	{PhaseFailedRun, CauseApp, waitsForOthers,
		"in failed runs of %s", aboutContainer,
		"in failed runs",
		"A run of the container ended before the pod was ready."},
	{PhaseSandboxLost, CauseRuntime, waitsForOthers,
		"replacing a lost sandbox", aboutNothing,
		"replacing lost sandboxes",
		"The sandbox died. The phase lasts until the next sandbox starts."},
	{PhaseCrashBackoff, CauseBackoff, beforeContainer | waitsForOthers,
		"crash back-off of %s", aboutContainer,
		"in the crash back-off",
		"A run failed, and the kubelet waits before it restarts the container."},
	{PhaseStartupProbe, CauseApp, beforeContainer | finalWait,
		"until %s had started", aboutContainer,
		"until started",
		"The container runs, but its startup probe has not passed yet."},
	{PhaseReadinessProbe, CauseApp, beforeContainer | finalWait,
		"until %s was ready", aboutContainer,
		"until ready",
		"The container runs, but its readiness probe has not passed yet."},
	{PhaseReadinessGates, CauseGate, waitsForOthers | finalWait,
		"readiness gates", aboutNothing,
		"waiting for readiness gates",
		"The containers are ready, but a readiness gate is not."},
	{PhaseUnattributed, CauseUnknown, 0,
		"unattributed", aboutNothing,
		"",
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

// ActivityOf returns what pods do in a phase, for example "mounting volumes". The text fits many start-ups, so it does
// not name a container or a registry. For PhaseUnattributed and for an unknown phase, the text is empty.
func ActivityOf(p Phase) string { return rowOf(p).activity }

// WaitsForOthers reports whether the end of the phase can depend on something outside the pod. If such a phase begins
// earlier, it can take longer.
func (p Phase) WaitsForOthers() bool { return rowOf(p).traits&waitsForOthers != 0 }

// IsFinalWait reports whether the phase can follow the kubelet's last work in a start-up. For example, the kubelet
// waits for a readiness probe after this work.
func (p Phase) IsFinalWait() bool { return rowOf(p).traits&finalWait != 0 }

// rowOf returns the row of a phase. For an unknown phase, rowOf returns the row of PhaseUnattributed.
func rowOf(p Phase) *phaseRow {
	for i := range phaseTable {
		if row := &phaseTable[i]; row.phase == p {
			return row
		}
	}
	return &phaseTable[len(phaseTable)-1]
}
