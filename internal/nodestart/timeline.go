package nodestart

import (
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// State is the progress of the node's start-up.
type State string

// The states. StateReady and StateGivenUp are final.
const (
	StateStarting State = "starting"
	StateReady    State = "ready"    // a workload pod was ready
	StateGivenUp  State = "given_up" // no workload pod was ready in time; see GiveUpAfter
)

// GiveUpAfter is how long the agent waits until a workload pod is ready.
const GiveUpAfter = time.Hour

// Timeline describes the start-up of a node. A Timeline never changes after Evidence.Timeline has returned it.
type Timeline struct {
	Node, BootID string
	State        State
	// Reconstructed is true if the start-up was over before the agent saw the Node object for the first time. If the
	// agent has no permission to read the Node object, Reconstructed is true if the start-up was over before the
	// agent's start.
	Reconstructed bool
	Partial       bool // more evidence can arrive

	BootedAt  time.Time
	SettledAt time.Time // when the start-up ended; zero in StateStarting
	// Total is the sum of the phases. TotalError is the error bound of Total: the greatest possible difference between
	// Total and the true duration.
	Total, TotalError time.Duration
	Phases            []Span // without gaps; the first phase starts at BootedAt

	Milestones []Milestone
	NotReady   []api.NotReadyRecord
	Taints     []api.TaintRecord        // the taints that kept workloads from the node
	DaemonSets []api.DaemonSetPodRecord // the DaemonSet pods that were created after the boot
	Workload   *Workload                // nil while no workload pod is known
	// Missing lists the facts for which there is no evidence, for example "kubelet_started".
	Missing []string
}

// If an Evidence dropped pods because of maxPods, Timeline.Missing contains missingPods.
const missingPods = "pods"

// Span is a phase of the start-up.
type Span struct {
	Phase Phase
	Cause timeline.Cause
	// If Phase is PhaseDaemonSet or PhaseWorkload, Step is the phase of the pod.
	Step timeline.Phase
	Pod  string // namespace/name of the pod, for PhaseDaemonSet and PhaseWorkload
	// If Phase is PhaseTaint, Taint is the key of the taint. A PhaseDaemonSet that replaces a part of a PhaseTaint has
	// the same Taint.
	Taint string
	// Owner names the component, program or user that removes the taint. If Phase is PhaseNetworkPlugin, Owner can
	// name two DaemonSets that install the network together.
	Owner string
	// If Phase is PhaseUnattributed, Candidates lists the phases that the time can belong to.
	Candidates     []Phase
	StartAt, EndAt time.Time
	Error          time.Duration // error bound of the duration
	Sources        []string
	Open           bool // the phase is in progress
}

// Duration returns the length of the span.
func (s Span) Duration() time.Duration { return s.EndAt.Sub(s.StartAt) }

// Milestone is an instant of the start-up. The true time of this instant is between Earliest and Latest.
type Milestone struct {
	Name                 string
	At, Earliest, Latest time.Time
	Sources              []string
}

// Workload is the first workload pod.
type Workload struct {
	Namespace, Name, UID        string
	CreatedAt, BoundAt, ReadyAt time.Time // zero if unknown
	// UngatedBy is the latest time at which the pod's last scheduling gate might have been removed. The pod object does
	// not show when a gate was removed. UngatedBy is zero if no gate can have delayed the pod.
	UngatedBy time.Time
	Again     bool // the pod was created before the boot, and is ready again
}
