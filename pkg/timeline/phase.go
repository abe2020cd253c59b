package timeline

// Phase is a named stretch of start-up between two neighboring milestones.
type Phase string

// Cause is the party that a phase is charged to.
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
	PhaseKubeletSync     Phase = "kubelet_sync"
	PhasePullQueue       Phase = "pull_queue"
	PhasePull            Phase = "pull"
	PhaseUnpack          Phase = "unpack"
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
	CausePlacement Cause = "placement" // the pod's requirements, which no node met
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
)

// about says what the text of a phase names.
type about uint8

const (
	aboutNothing about = iota
	aboutRegistry
	aboutContainer
)

// phaseRow is the party that a phase is charged to, and the text of the phase, with a %s for what it names.
type phaseRow struct {
	phase Phase
	cause Cause
	text  string
	about about
}

// phaseTable has one row per phase, in the order of the constants above.
var phaseTable = []phaseRow{
	{PhaseSchedulingGate, CauseGate, "waiting for its scheduling gates", aboutNothing},
	{PhaseUnschedulable, CausePlacement, "waiting for a node that fits", aboutNothing},
	{PhaseScheduling, CauseScheduler, "waiting for the scheduler", aboutNothing},
	{PhaseKubeletPickup, CauseKubelet, "until kubelet took it up", aboutNothing},
	{PhaseAPIServer, CauseAPIServer, "until kubelet could read from the API server", aboutNothing},
	{PhasePodConfig, CauseConfig, "until the pod's configuration was there", aboutNothing},
	{PhaseVolumes, CauseVolumes, "volumes", aboutNothing},
	{PhaseDevice, CauseDevice, "preparing dynamic resources", aboutNothing},
	{PhaseNetwork, CauseNetwork, "network", aboutNothing},
	{PhaseSandboxImage, CauseRegistry, "pulling the sandbox (pause) image", aboutNothing},
	{PhaseSandbox, CauseRuntime, "sandbox", aboutNothing},
	{PhaseKubeletSync, CauseKubelet, "kubelet between steps", aboutNothing}, // gaps between steps: sync, relist
	{PhasePullQueue, CausePullQueue, "in the node's pull queue", aboutNothing},
	{PhasePull, CauseRegistry, "pulling from %s", aboutRegistry},
	{PhaseUnpack, CauseDisk, "unpacking", aboutNothing}, // the rest of it after the last byte has arrived
	{PhaseImageBackoff, CauseBackoff, "image pull back-off", aboutNothing},
	{PhaseContainerConfig, CauseConfig, "until %s could be made as configured", aboutContainer},
	{PhaseContainerCreate, CauseRuntime, "creating containers", aboutNothing},
	{PhaseContainerStart, CauseRuntime, "starting containers", aboutNothing},
	{PhaseInitRun, CauseApp, "running init container %s", aboutContainer},
	{PhasePostStartHook, CauseApp, "in the post-start hook of %s", aboutContainer},
	{PhaseFailedRun, CauseApp, "in runs of %s that failed", aboutContainer}, // a run that ended before ready
	{PhaseSandboxLost, CauseRuntime, "lost with a sandbox", aboutNothing},   // from its last step to the next sandbox
	{PhaseCrashBackoff, CauseBackoff, "crash back-off of %s", aboutContainer},
	{PhaseStartupProbe, CauseApp, "until %s had started", aboutContainer},
	{PhaseReadinessProbe, CauseApp, "until %s was ready", aboutContainer},
	{PhaseReadinessGates, CauseGate, "readiness gates", aboutNothing},
	{PhaseUnattributed, CauseUnknown, "unattributed", aboutNothing},
}

// Phases lists every phase in the order of a start-up.
func Phases() []Phase {
	phases := make([]Phase, len(phaseTable))
	for i, row := range phaseTable {
		phases[i] = row.phase
	}
	return phases
}

// CauseOf returns the party that a phase is charged to.
func CauseOf(p Phase) Cause { return rowOf(p).cause }

// rowOf returns the row of a phase, or that of PhaseUnattributed for an unknown phase.
func rowOf(p Phase) phaseRow {
	for _, row := range phaseTable {
		if row.phase == p {
			return row
		}
	}
	return phaseTable[len(phaseTable)-1]
}
