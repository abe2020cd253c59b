package nodestart

import (
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// Observation is one of the types Booted, NodeSeen, EventsListed, StartUpSeen, PodReady, PodGone and SkewSeen.
type Observation interface{ observation() }

// Booted describes the latest boot of the machine. A new start-up begins if BootID changes. Without a boot ID, a new
// start-up begins if At changes.
type Booted struct {
	ArrivedAt  time.Time     // when the agent read the values
	At         time.Time     // btime of /proc/stat, on the node's clock
	Resolution time.Duration // the kernel truncates btime to seconds
	BootID     string        // /proc/sys/kernel/random/boot_id; empty if unknown
}

// NodeSeen is one version of the Node object. The caller passes versions in the order of their arrival. A list can
// return a version before the watch delivers it.
type NodeSeen struct {
	ArrivedAt time.Time
	// RequestedAt is the instant just before the agent requested a list. The response shows the Node object as it was
	// at RequestedAt or later. RequestedAt is zero for a change that a watch delivered.
	RequestedAt time.Time
	Version     uint64 // resourceVersion; 0 if unknown
	Exists      bool   // false if the API server has no such object
	Name        string
	CreatedAt   time.Time // on the control plane's clock, truncated to seconds
	BootID      string    // status.nodeInfo.bootID, which the kubelet writes
	Conditions  []Condition
	Taints      []Taint
}

// Condition is a condition of the Node object.
type Condition struct {
	Type, Reason, Message string
	Status                string    // True, False or Unknown
	ChangedAt             time.Time // lastTransitionTime, truncated to seconds
}

// NetworkUnavailable is the type of a condition that the kubelet does not write. Some network plugins and cloud
// providers write this condition.
const NetworkUnavailable = "NetworkUnavailable"

// Taint is a taint of the Node object.
type Taint struct{ Key, Effect string }

// EventsListed contains the kubelet's Events about its Node object. For each of the reasons below, the list contains
// all Events that existed when the API server responded.
type EventsListed struct {
	ArrivedAt time.Time
	Events    []Event
}

// Event is one Event of the kubelet about its node.
type Event struct {
	Reason string
	At     time.Time // the creation time that the Event's name contains, on the kubelet's clock
}

// Reasons of the kubelet's Events about its node.
const (
	ReasonStarting = "Starting"  // the kubelet has started
	ReasonRebooted = "Rebooted"  // the kubelet reports a new boot ID for an existing Node object
	ReasonReady    = "NodeReady" // the condition Ready became true, after it was false or unknown
	ReasonNotReady = "NodeNotReady"
)

// StartUpSeen is the start-up of a pod on the node. A later observation of a pod replaces the earlier observation of
// the same pod.
type StartUpSeen struct{ Timeline timeline.Timeline }

// PodReady is a workload pod that was created before the boot, and that is ready again after the boot.
type PodReady struct {
	ArrivedAt            time.Time
	UID, Namespace, Name string
	CreatedAt            time.Time
	ReadyAt              time.Time // lastTransitionTime of the condition Ready, truncated to seconds
	// Turned is true if the agent saw, after the boot, that the pod was not ready. If Turned is false, ReadyAt might
	// not be the first time at which the pod was ready after the boot.
	Turned bool
}

// PodGone is a pod whose object was removed.
type PodGone struct{ UID string }

// SkewSeen is the difference between the clocks of the control plane and of the node.
type SkewSeen struct{ Skew timeline.Skew }

func (Booted) observation()       {}
func (NodeSeen) observation()     {}
func (EventsListed) observation() {}
func (StartUpSeen) observation()  {}
func (PodReady) observation()     {}
func (PodGone) observation()      {}
func (SkewSeen) observation()     {}
