package watchdelay

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/internal/untrusted"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// change is a kind of change that the pod watch delivers.
type change string

// For each change, the object itself holds a timestamp, in whole seconds.
const (
	// the pod arrived on the node: when it was bound or, if it was created with a node, when it was created
	changeBound    change = "bound"
	changeModified change = "modified" // one of the kubelet's conditions changed: its lastTransitionTime
	changeDeleting change = "deleting" // its deletion was requested: deletionTimestamp minus the grace period
	// the object was removed: when the kubelet requested deletion without a grace period
	changeDeleted change = "deleted"
)

// changes lists every change.
func changes() []change {
	return []change{changeBound, changeModified, changeDeleting, changeDeleted}
}

// kubeletsConditions are the conditions that the kubelet sets, with the node's clock (kubelet:
// pkg/kubelet/types, PodConditionByKubelet). The control plane sets PodScheduled; any client may
// set readiness gates.
var kubeletsConditions = map[string]bool{
	string(corev1.PodInitialized): true, string(corev1.ContainersReady): true, string(corev1.PodReady): true,
	string(corev1.PodReadyToStartContainers): true,
}

// boundAt returns since when the watch, which selects one node's pods, includes the pod: before
// that, the pod was on no node.
func boundAt(pod *corev1.Pod) time.Time {
	at := untrusted.Time(pod.CreationTimestamp)
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue &&
			untrusted.Time(c.LastTransitionTime).After(at) {
			at = untrusted.Time(c.LastTransitionTime)
		}
	}
	return at
}

// changedAt returns when the kubelet last changed one of its conditions, or zero if none changed.
func changedAt(before []timeline.Condition, now []corev1.PodCondition) (at time.Time) {
	for i := range now {
		kind, stamp := string(now[i].Type), untrusted.Time(now[i].LastTransitionTime)
		if !kubeletsConditions[kind] || !stamp.After(at) {
			continue
		}
		known := slices.IndexFunc(before, func(c timeline.Condition) bool { return c.Type == kind })
		if known < 0 || stamp.After(before[known].TransitionAt) {
			at = stamp
		}
	}
	return at
}
