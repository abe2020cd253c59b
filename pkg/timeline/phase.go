package timeline

// Phase is a named stretch of start-up between two neighbouring marks.
type Phase string

// Cause is who a phase is charged to.
type Cause string

// The phases, in the order in which a start-up meets them.
const (
	PhaseScheduling      Phase = "scheduling"
	PhaseKubeletPickup   Phase = "kubelet_pickup"
	PhaseVolumes         Phase = "volumes"
	PhaseNetwork         Phase = "network"
	PhaseSandbox         Phase = "sandbox"
	PhaseKubeletSync     Phase = "kubelet_sync"
	PhasePullQueue       Phase = "pull_queue"
	PhasePull            Phase = "pull"
	PhaseImageBackoff    Phase = "image_backoff"
	PhaseContainerCreate Phase = "container_create"
	PhaseContainerStart  Phase = "container_start"
	PhaseInitRun         Phase = "init_run"
	PhaseFailedRun       Phase = "failed_run"
	PhaseCrashBackoff    Phase = "crash_backoff"
	PhaseStartupProbe    Phase = "startup_probe"
	PhaseReadinessProbe  Phase = "readiness_probe"
	PhaseReadinessGates  Phase = "readiness_gates"
	PhaseUnattributed    Phase = "unattributed"
)

// The causes.
const (
	CauseScheduler Cause = "scheduler"
	CauseKubelet   Cause = "kubelet"
	CauseVolumes   Cause = "volumes"
	CauseNetwork   Cause = "network"
	CauseRuntime   Cause = "runtime"
	CausePullQueue Cause = "pull_queue"
	CauseRegistry  Cause = "registry"
	CauseApp       Cause = "app"
	CauseGate      Cause = "gate"
	CauseBackoff   Cause = "backoff"
	CauseUnknown   Cause = "unknown"
)

// phaseTable charges each phase, in the order of the constants above.
var phaseTable = []struct {
	phase Phase
	cause Cause
}{
	{PhaseScheduling, CauseScheduler},
	{PhaseKubeletPickup, CauseKubelet},
	{PhaseVolumes, CauseVolumes},
	{PhaseNetwork, CauseNetwork},
	{PhaseSandbox, CauseRuntime},
	{PhaseKubeletSync, CauseKubelet}, // gaps between steps: sync, relist, post-start hook
	{PhasePullQueue, CausePullQueue},
	{PhasePull, CauseRegistry},
	{PhaseImageBackoff, CauseBackoff},
	{PhaseContainerCreate, CauseRuntime},
	{PhaseContainerStart, CauseRuntime},
	{PhaseInitRun, CauseApp},
	{PhaseFailedRun, CauseApp}, // a run that ended before the pod was ready
	{PhaseCrashBackoff, CauseBackoff},
	{PhaseStartupProbe, CauseApp},
	{PhaseReadinessProbe, CauseApp},
	{PhaseReadinessGates, CauseGate},
	{PhaseUnattributed, CauseUnknown},
}

// Phases lists every phase in the order in which a start-up meets them.
func Phases() []Phase {
	phases := make([]Phase, len(phaseTable))
	for i, row := range phaseTable {
		phases[i] = row.phase
	}
	return phases
}

// CauseOf says who a phase is charged to.
func CauseOf(p Phase) Cause {
	for _, row := range phaseTable {
		if row.phase == p {
			return row.cause
		}
	}
	return CauseUnknown
}
