package timeline

import "time"

// The phases of a termination. A termination can also have the phases PhaseKubeletPickup and PhaseUnattributed.
// PhaseNetwork, PhaseVolumes and PhaseAPIServer appear only as candidates of PhaseUnattributed.
const (
	// PhasePreStopHook lasts from the time when the kubelet picks up the deletion request to the end of the container.
	// The phase includes the time after the hook, because no evidence shows when the hook itself ended.
	PhasePreStopHook Phase = "pre_stop_hook"
	// PhaseGrace lasts from the stop request to the container's end or to the end of its grace period, whichever is
	// earlier. If the end of the grace period is unknown, PhaseGrace lasts to the container's end.
	PhaseGrace Phase = "grace"
	PhaseKill  Phase = "kill" // from the end of the grace period to the kill of the container
	// PhaseSandboxStop lasts from the end of the last container to the runtime's first response that contains no ready
	// sandbox. During PhaseSandboxStop, CRI-O calls the network plugin.
	PhaseSandboxStop Phase = "sandbox_stop"
	// PhaseObjectDeletion lasts from the runtime's first response that contains no ready sandbox to the deletion of the
	// object. If the object has finalizers, the phase ends when the kubelet releases the object. To release the object,
	// the kubelet deletes it with the grace period 0. During PhaseObjectDeletion, containerd calls the network plugin.
	// The kubelet cleans up volumes and cgroups, and calls the API server.
	PhaseObjectDeletion Phase = "object_deletion"
	// PhaseFinalizers begins when the kubelet releases the object, and lasts until the object is gone.
	PhaseFinalizers Phase = "finalizers"
)

// terminationCauses maps each phase of a termination to the party that is responsible for the phase.
var terminationCauses = map[Phase]Cause{
	PhaseKubeletPickup: CauseKubelet, PhasePreStopHook: CauseApp, PhaseGrace: CauseApp, PhaseKill: CauseRuntime,
	PhaseSandboxStop: CauseRuntime, PhaseObjectDeletion: CauseKubelet, PhaseFinalizers: CauseGate,
	PhaseNetwork: CauseNetwork, PhaseVolumes: CauseVolumes, PhaseAPIServer: CauseAPIServer,
}

// Termination describes one pod's termination, from the request to delete the pod to the deletion of its object.
// Termination is a value that never changes after TerminationEvidence.Termination returns it. The phases and error
// bounds have the same meaning as in a Timeline.
type Termination struct {
	RequestedAt time.Time
	GoneAt      time.Time // when the object was gone; zero while the object exists
	// Grace is the shortest requested grace period. Grace is 0 only if ZeroGrace is true.
	Grace time.Duration
	// ZeroGrace is true if the agent observed no grace period above 0.
	ZeroGrace bool
	// Reason is the reason for the deletion, from the condition DisruptionTarget, for example EvictionByEvictionAPI.
	// Reason is empty if the condition is not set, for example after kubectl delete.
	Reason string
	// Total is GoneAt minus RequestedAt. While the object still exists, Total is the time since RequestedAt. Total
	// equals the sum of the phases' durations exactly.
	Total, TotalError time.Duration

	Phases    []Span // the phases from RequestedAt, without gaps
	Stops     []Stop // one entry for each container that had started, in the order of the spec
	Conflicts []TerminationConflict
	Missing   []string // milestones without evidence, for example stop_begun or stopped/<container>; or MissingClock
	Skew      Skew
	// Listed is true if the agent learned about the deletion request from a list, possibly long after the request.
	Listed bool
}

// TerminationConflict is a contradiction between sources about a termination.
type TerminationConflict struct {
	Milestone string
	Container string
	Detail    string // the two contradictory statements and their sources, as text
}

// A StopKind is the way in which a container ended.
type StopKind string

// The ways in which a container can end. Only the exit code shows the signal that ended a process. Runtimes and shells
// set the exit code to 128 plus the number of the signal.
const (
	StopBefore    StopKind = "before"    // the container had ended before the deletion request
	StopExited    StopKind = "exited"    // the process ended by itself, with its own exit code
	StopSignalled StopKind = "signalled" // a signal other than SIGKILL, such as SIGTERM, ended the process
	StopKilled    StopKind = "killed"    // SIGKILL ended the process at the end of its grace period
	// StopKilledEarly means that SIGKILL ended the process before the end of its grace period, for an unknown reason.
	StopKilledEarly StopKind = "killed_early"
	StopOutOfMemory StopKind = "out_of_memory" // the kernel ended the process for lack of memory
	StopUnknown     StopKind = "unknown"       // no evidence shows how the container ended
	StopRunning     StopKind = "running"       // the container has not stopped yet
)

// Stop describes the end of one container.
type Stop struct {
	Container string
	Kind      ContainerKind
	How       StopKind
	StoppedAt time.Time // zero while the container runs, or if unknown
	// Used is the part of the grace period that the container used. This part begins when the kubelet picks up the
	// deletion request, and ends at StoppedAt. Used is known only if Timed is true. If Timed is true, Used differs from
	// the truth by at most Error. If the kubelet's first stop request cannot explain the time of the container's end,
	// Timed is false (see stoppedLate).
	Used, Error time.Duration
	Timed       bool
	Exited      bool // ExitCode is known
	ExitCode    int
	Signal      int    // the signal that ExitCode represents; 0 for none
	Reason      string // the runtime's or the kubelet's reason: Completed, Error, OOMKilled, …
	PreStopHook bool
	Sources     []Source
}
