package timeline

import "time"

// The phases of a termination, beside PhaseKubeletPickup and PhaseUnattributed, which a start-up has as well.
const (
	PhasePreStopHook    Phase = "pre_stop_hook"   // the kubelet took the deletion up → the hook is over, which only the container's end tells
	PhaseGrace          Phase = "grace"           // asked to stop → stopped, or out of time
	PhaseKill           Phase = "kill"            // out of time → killed
	PhaseSandboxStop    Phase = "sandbox_stop"    // last container stopped → no sandbox ready
	PhaseObjectDeletion Phase = "object_deletion" // no sandbox ready → the kubelet lets go of the object: volumes, cgroups, API server
	PhaseFinalizers     Phase = "finalizers"      // the kubelet let go of the object → the object gone
)

// terminationCauses says who each phase of a termination is charged to.
var terminationCauses = map[Phase]Cause{
	PhaseKubeletPickup: CauseKubelet, PhasePreStopHook: CauseApp, PhaseGrace: CauseApp, PhaseKill: CauseRuntime,
	PhaseSandboxStop: CauseRuntime, PhaseObjectDeletion: CauseKubelet, PhaseFinalizers: CauseGate,
}

// EndPhases lists the phases that a termination can have.
func EndPhases() []Phase {
	return []Phase{PhaseKubeletPickup, PhasePreStopHook, PhaseGrace, PhaseKill, PhaseSandboxStop, PhaseObjectDeletion,
		PhaseFinalizers, PhaseUnattributed}
}

// Termination is what is known of one pod's end, from the request to delete it until its object is gone. It is a value: never
// changed after Ending.Termination made it. What is said of a Timeline's phases and errors holds here, too.
type Termination struct {
	RequestedAt time.Time
	GoneAt      time.Time // the object was gone; zero while it is there
	// Grace is how long the containers were given, the shortest of those asked for; 0 with Hurried alone.
	Grace time.Duration
	// Hurried says that no grace period was seen but 0.
	Hurried bool
	// Reason is why it was deleted, in the word of the condition DisruptionTarget, e.g. EvictionByEvictionAPI; empty where that is
	// not set, as after kubectl delete.
	Reason string
	// Total is GoneAt less RequestedAt, or the time so far; it equals the sum of the phases' durations exactly.
	Total, TotalError time.Duration

	Phases    []Span // end to end from RequestedAt
	Stops     []Stop // of each container that the pod had started, in spec order
	Conflicts []EndConflict
	Missing   []string // marks that lack evidence, as mark[/container]
	Skew      Skew
	// Listed says that the agent heard of the deletion from a list, perhaps long after.
	Listed bool
}

// Ended says that the timeline is the last of its pod: with a Termination that is over.
func (t Timeline) Ended() bool { return t.Termination != nil && !t.Termination.GoneAt.IsZero() }

// EndConflict is a contradiction between sources about a termination.
type EndConflict struct {
	Mark      string
	Container string
	Detail    string // both sides with their source, in words
}

// How a container ended.
type How string

// The ways to end. Which signal ended a process only its exit code tells, as runtimes and shells write it: 128 and the signal.
const (
	HowBefore      How = "before"        // it had ended when deletion was asked for
	HowExited      How = "exited"        // by itself, with the exit code that it chose
	HowSignalled   How = "signalled"     // by a signal other than SIGKILL, such as SIGTERM, in time
	HowKilled      How = "killed"        // by SIGKILL, when its grace period was over
	HowKilledEarly How = "killed_early"  // by SIGKILL, before its grace period was over: not by the kubelet, for that reason
	HowOutOfMemory How = "out_of_memory" // by the kernel, while it was to stop
	HowUnknown     How = "unknown"       // nothing tells
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
	StoppedAt time.Time // zero while running, or where nothing tells
	// Used is how much of the grace period it took: StoppedAt less when the kubelet took the deletion up. Known if Timed, and then
	// within Error of the truth.
	Used, Error time.Duration
	Timed       bool
	Exited      bool // ExitCode is known
	ExitCode    int
	Signal      int    // by ExitCode; 0 for none
	Reason      string // in the runtime's or the kubelet's word: Completed, Error, OOMKilled, …
	PreStopHook bool
	Sources     []Source
}
