package watchdelay

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/internal/untrusted"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// changeKind is a kind of change that the pod watch delivers.
type changeKind string

// Values of the label "change". For each change, the object contains a timestamp in whole seconds.
const (
	// changeBound means that the pod was assigned to the node. The timestamp is the time of the binding. For a pod that
	// was created with a node name, the timestamp is the creation time.
	changeBound    changeKind = "bound"
	changeModified changeKind = "modified" // the kubelet changed a condition; timestamp: lastTransitionTime
	changeDeleting changeKind = "deleting" // deletion requested; timestamp: deletionTimestamp minus the grace period
	// changeDeleted means that the object was removed. Before the removal, the kubelet requests the deletion with a
	// grace period of zero. The timestamp is the time of the kubelet's request.
	changeDeleted changeKind = "deleted"
)

// allChanges returns all values of the label "change".
func allChanges() []changeKind {
	return []changeKind{changeBound, changeModified, changeDeleting, changeDeleted}
}

// kubeletsConditions are the conditions that the kubelet sets, with timestamps from the node's clock (kubelet:
// pkg/kubelet/types, PodConditionByKubelet). The map omits PodScheduled, because the control plane sets it. The map
// also omits the conditions of readiness gates, because any client can set them.
var kubeletsConditions = map[string]bool{
	string(corev1.PodInitialized): true, string(corev1.ContainersReady): true, string(corev1.PodReady): true,
	string(corev1.PodReadyToStartContainers): true,
}

// boundAt returns the time at which the pod was assigned to the node. The watch selects only the pods of one node, so
// the watch does not deliver the pod before the assignment.
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

// changedAt returns the time of the kubelet's latest change of a condition. changedAt returns zero if no condition
// changed.
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
