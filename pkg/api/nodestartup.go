package api

import "github.com/podlapse/podlapse/pkg/timeline"

// NodeStartUpRecord describes the start-up of a node, from the boot of the machine until the first workload pod is
// ready. The agent writes the record to standard output when the start-up is over, and again after a restart of the
// agent. Lists are never null. JSON omits values that are unknown or do not apply.
type NodeStartUpRecord struct {
	// ID is the boot ID of the machine. A repeated record of the same start-up has the same ID.
	ID    string `json:"id"`
	Node  string `json:"node"`
	State string `json:"state"` // starting, ready or given_up
	// Partial is true if more evidence can arrive.
	Partial bool `json:"partial,omitempty"`
	// Reconstructed is true if the start-up was over before the agent started.
	Reconstructed bool    `json:"reconstructed,omitempty"`
	BootedAt      Instant `json:"booted_at"`
	SettledAt     Instant `json:"settled_at,omitzero"`
	Total         Seconds `json:"total_seconds"`
	TotalError    Seconds `json:"total_error_seconds"`
	Verdict       string  `json:"verdict"` // one sentence for people; its wording can change

	Phases     []NodePhaseRecord     `json:"phases"` // the seconds of all phases add up to exactly total_seconds
	Milestones []NodeMilestoneRecord `json:"milestones"`
	NotReady   []NotReadyRecord      `json:"not_ready"`
	Taints     []TaintRecord         `json:"taints"`
	DaemonSets []DaemonSetPodRecord  `json:"daemonsets"`
	Workload   *FirstWorkloadRecord  `json:"workload,omitempty"` // nil while no workload pod is known
	Missing    []string              `json:"missing"`
}

// NodeStartUpLine is the line on standard output for the start-up of the node.
type NodeStartUpLine struct {
	NodeStartUp NodeStartUpRecord `json:"node_startup"`
}

// NodePhaseRecord is one phase of a node's start-up.
type NodePhaseRecord struct {
	Phase string         `json:"phase"`
	Cause timeline.Cause `json:"cause"`
	// If Phase is "daemonset" or "workload", the node waits for a pod. Pod is the name of the pod that the node waits
	// for, and Step is the phase of the pod's start-up.
	Step    timeline.Phase `json:"step,omitempty"`
	Pod     string         `json:"pod,omitempty"`   // NAMESPACE/NAME
	Taint   string         `json:"taint,omitempty"` // key of the taint
	Owner   string         `json:"owner,omitempty"` // who removes the taint, or which DaemonSets install the network
	StartAt Instant        `json:"start_at"`
	EndAt   Instant        `json:"end_at"`
	Length  Seconds        `json:"seconds"`
	Error   Seconds        `json:"error_seconds"`
	Open    bool           `json:"open,omitempty"`
	Sources []string       `json:"sources"`
	// If Phase is "unattributed", Candidates lists the phases that the time can belong to.
	Candidates []string `json:"candidates,omitempty"`
}

// NodeMilestoneRecord describes when the start-up of the node reached a milestone. The true time is between Earliest
// and Latest.
type NodeMilestoneRecord struct {
	Milestone string   `json:"milestone"`
	Earliest  Instant  `json:"earliest"`
	Latest    Instant  `json:"latest"`
	Sources   []string `json:"sources"`
}

// NotReadyRecord is a message that says why the node was not ready. The message is from a condition of the Node object.
type NotReadyRecord struct {
	SeenAt Instant `json:"seen_at"` // when the agent received the message
	// Condition is "NetworkUnavailable" if the message is from the condition of this name. Condition is empty if the
	// message is from the condition Ready.
	Condition string `json:"condition,omitempty"`
	Message   string `json:"message"` // at most 256 bytes, without credentials
}

// TaintRecord is a taint that kept workload pods off the node. RemovedAt is absent while the taint exists.
type TaintRecord struct {
	Key       string  `json:"key"`
	Effect    string  `json:"effect"`
	Owner     string  `json:"owner"`
	Present   bool    `json:"present,omitempty"`
	RemovedAt Instant `json:"removed_at,omitzero"`
	Earliest  Instant `json:"earliest,omitzero"`
	Latest    Instant `json:"latest,omitzero"`
}

// DaemonSetPodRecord is the start-up of a DaemonSet's pod on the node.
type DaemonSetPodRecord struct {
	DaemonSet  string         `json:"daemonset"`
	Namespace  string         `json:"namespace"`
	Name       string         `json:"name"`
	UID        string         `json:"uid"`
	State      timeline.State `json:"state"`
	Critical   bool           `json:"critical,omitempty"` // the node waited for this pod
	CreatedAt  Instant        `json:"created_at"`
	SettledAt  Instant        `json:"settled_at,omitzero"`
	Total      Seconds        `json:"total_seconds"`
	TotalError Seconds        `json:"total_error_seconds"`
	Verdict    string         `json:"verdict"`
}

// FirstWorkloadRecord is the workload pod that was ready first. If no workload pod is ready yet, FirstWorkloadRecord is
// the workload pod that was bound to the node first.
type FirstWorkloadRecord struct {
	Namespace string  `json:"namespace"`
	Name      string  `json:"name"`
	UID       string  `json:"uid"`
	CreatedAt Instant `json:"created_at"`
	BoundAt   Instant `json:"bound_at,omitzero"`
	ReadyAt   Instant `json:"ready_at,omitzero"`
	// Again is true if the pod was created before the boot of the machine, and is ready again after the boot.
	Again bool `json:"again,omitempty"`
	// Waited is the time from the creation of the pod until the pod was bound to the node. If a scheduling gate might
	// have delayed the pod, Waited begins when a scheduler last reported that no node fits. Waited and WaitedFor are
	// present only if the pod began to wait before the node was registered.
	Waited    *Seconds `json:"waited_seconds,omitempty"`
	WaitedFor string   `json:"waited_for,omitempty"` // a text for people; its wording can change
}
