package nodestart

import "github.com/podlapse/podlapse/pkg/timeline"

// Phase is a named part of a node's start-up.
type Phase string

// The phases, in the order of a start-up.
const (
	PhaseMachine       Phase = "machine"              // booted → the kubelet started
	PhaseRegistration  Phase = "kubelet_registration" // the kubelet started → the Node object describes this boot
	PhaseRuntime       Phase = "runtime"              // the kubelet reports that the container runtime is not ready
	PhaseNetworkPlugin Phase = "network_plugin"       // the kubelet reports that the runtime's network is not ready
	PhaseKubelet       Phase = "kubelet"              // the kubelet reports a problem of its own, or an unknown problem
	PhaseTaint         Phase = "taint"                // ready → the last start-up taint was removed
	PhaseDaemonSet     Phase = "daemonset"            // start-up of the DaemonSet pod that the node waits for
	PhaseAwaitingPod   Phase = "awaiting_pod"         // pods can be scheduled → the first workload pod was created
	PhaseWorkload      Phase = "workload"             // start-up of the first workload pod
	PhaseUnattributed  Phase = "unattributed"
)

// The causes that only the start-up of a node has. Spans of PhaseDaemonSet and PhaseWorkload have causes from package
// timeline.
const (
	CauseMachine    timeline.Cause = "machine"
	CauseTaintOwner timeline.Cause = "taint_owner" // Span.Owner names the owner
	CauseNone       timeline.Cause = "none"        // the node waits for a workload pod
)

// phaseRow contains the cause of a phase, and the text about the phase in a verdict.
type phaseRow struct {
	phase Phase
	cause timeline.Cause
	text  string
}

// phaseTable has one row for each phase, in the order of the constants above. A span of PhaseDaemonSet or PhaseWorkload
// takes its cause and its text from a phase of its pod, and not from the row.
var phaseTable = []phaseRow{
	{PhaseMachine, CauseMachine, "until the kubelet had started on the machine"},
	{PhaseRegistration, timeline.CauseKubelet, "until the kubelet had registered the node"},
	{PhaseRuntime, timeline.CauseRuntime, "container runtime"},
	{PhaseNetworkPlugin, timeline.CauseNetwork, "network plugin"},
	{PhaseKubelet, timeline.CauseKubelet, "until the kubelet was ready"},
	{PhaseTaint, CauseTaintOwner, "taint"},
	{PhaseDaemonSet, timeline.CauseUnknown, ""},
	{PhaseAwaitingPod, CauseNone, "waiting for a workload pod to be created"},
	{PhaseWorkload, timeline.CauseUnknown, ""},
	{PhaseUnattributed, timeline.CauseUnknown, "unattributed"},
}

// Phases returns all phases, in the order of a start-up.
func Phases() []Phase {
	var all []Phase
	for _, row := range phaseTable {
		all = append(all, row.phase)
	}
	return all
}

func rowOf(p Phase) phaseRow {
	for _, row := range phaseTable {
		if row.phase == p {
			return row
		}
	}
	return phaseRow{phase: p, cause: timeline.CauseUnknown, text: string(p)}
}
