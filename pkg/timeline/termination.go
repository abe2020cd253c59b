package timeline

import "time"

// The phases of a termination, in addition to PhaseKubeletPickup and PhaseUnattributed, which a start-up also has.
const (
	// PhasePreStopHook: deletion picked up → hook over; only the container's end shows that the hook is over.
	PhasePreStopHook    Phase = "pre_stop_hook"
	PhaseGrace          Phase = "grace"           // asked to stop → stopped, or out of time
	PhaseKill           Phase = "kill"            // out of time → killed
	PhaseSandboxStop    Phase = "sandbox_stop"    // last container stopped → no sandbox ready
	PhaseObjectDeletion Phase = "object_deletion" // no sandbox ready → object released: volumes, cgroups, API server
	PhaseFinalizers     Phase = "finalizers"      // the kubelet released the object → the object gone
)

// terminationCauses is the party that each phase of a termination is charged to.
var terminationCauses = map[Phase]Cause{
	PhaseKubeletPickup: CauseKubelet, PhasePreStopHook: CauseApp, PhaseGrace: CauseApp, PhaseKill: CauseRuntime,
	PhaseSandboxStop: CauseRuntime, PhaseObjectDeletion: CauseKubelet, PhaseFinalizers: CauseGate,
}

// TerminationPhases lists the phases that a termination can have.
func TerminationPhases() []Phase {
	return []Phase{PhaseKubeletPickup, PhasePreStopHook, PhaseGrace, PhaseKill, PhaseSandboxStop, PhaseObjectDeletion,
		PhaseFinalizers, PhaseUnattributed}
}

// Termination holds what is known about one pod's termination, from the request to delete it until its object is gone.
// It is a value: it does not change after TerminationEvidence.Termination returned it. Its phases and errors have the
// same meaning as a Timeline's.
type Termination struct {
	RequestedAt time.Time
	GoneAt      time.Time // when the object was gone; zero while it exists
	// Grace is the shortest grace period that was requested; 0 only if Hurried.
	Grace time.Duration
	// Hurried says that the only grace period seen was 0.
	Hurried bool
	// Reason is why the pod was deleted, from the condition DisruptionTarget, e.g. EvictionByEvictionAPI; empty if
	// the condition is not set, for example after kubectl delete.
	Reason string
	// Total is GoneAt minus RequestedAt, or the time so far. It equals the sum of the phases' durations exactly.
	Total, TotalError time.Duration

	Phases    []Span // end to end from RequestedAt
	Stops     []Stop // of each container that the pod had started, in spec order
	Conflicts []TerminationConflict
	Missing   []string // milestones that lack evidence, as milestone[/container]
	Skew      Skew
	// Listed says that the agent learned of the deletion from a list, possibly long after it.
	Listed bool
}

// TerminationConflict is a contradiction between sources about a termination.
type TerminationConflict struct {
	Milestone string
	Container string
	Detail    string // both sides with their source, as text
}

// How is how a container ended.
type How string

// The ways to end. Only the exit code says which signal ended a process, as runtimes and shells write it: 128 plus
// the signal.
const (
	HowBefore      How = "before"        // it had ended when the deletion was requested
	HowExited      How = "exited"        // by itself, with its own exit code
	HowSignalled   How = "signalled"     // by a signal other than SIGKILL, such as SIGTERM, in time
	HowKilled      How = "killed"        // by SIGKILL, when its grace period was over
	HowKilledEarly How = "killed_early"  // by SIGKILL before its grace period was over, so for another reason
	HowOutOfMemory How = "out_of_memory" // by the kernel, while it was asked to stop
	HowUnknown     How = "unknown"       // no evidence
	HowRunning     How = "running"       // not stopped yet
)

// Hows lists every way to end.
func Hows() []How {
	return []How{HowBefore, HowExited, HowSignalled, HowKilled, HowKilledEarly, HowOutOfMemory, HowUnknown, HowRunning}
}

// Stop is how one container ended.
type Stop struct {
	Container string
	Kind      ContainerKind
	How       How
	StoppedAt time.Time // zero while running, or if unknown
	// Used is how much of the grace period it took: StoppedAt minus the kubelet's pickup of the deletion. It is
	// known if Timed, and then within Error of the truth.
	Used, Error time.Duration
	Timed       bool
	Exited      bool // ExitCode is known
	ExitCode    int
	Signal      int    // by ExitCode; 0 for none
	Reason      string // the runtime's or the kubelet's reason: Completed, Error, OOMKilled, …
	PreStopHook bool
	Sources     []Source
}
