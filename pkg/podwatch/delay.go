package podwatch

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/internal/untrusted"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Change is a kind of change that the pod watch reports.
type Change string

// Values of Change. For each, the object itself holds a timestamp, in whole seconds.
const (
	// the pod came to the node: when it was bound or, if it never waited for that, created
	ChangeBound    Change = "bound"
	ChangeModified Change = "modified" // one of the kubelet's conditions changed: its lastTransitionTime
	ChangeDeleting Change = "deleting" // its deletion was requested: deletionTimestamp minus the grace period
	// the object was removed: when the kubelet requested deletion without a grace period
	ChangeDeleted Change = "deleted"
)

// Changes lists every change.
func Changes() []Change {
	return []Change{ChangeBound, ChangeModified, ChangeDeleting, ChangeDeleted}
}

// kubeletsConditions are the conditions that the kubelet sets, with the node's clock (kubelet:
// pkg/kubelet/types, PodConditionByKubelet). The control plane sets PodScheduled; any client may
// set readiness gates.
var kubeletsConditions = map[string]bool{
	string(corev1.PodInitialized): true, string(corev1.ContainersReady): true, string(corev1.PodReady): true,
	string(corev1.PodReadyToStartContainers): true,
}

// lateBound reports the delay with which the watch delivered a new pod. The watch never repeats
// events: it resumes where it ended.
func (s *store) lateBound(pod *corev1.Pod, now time.Time) {
	s.recordDelay(ChangeBound, boundAt(pod), now)
}

// lateChange reports the delay with which the watch delivered a change of a known pod.
func (s *store) lateChange(pod *corev1.Pod, now time.Time) {
	known, ok := s.seen[string(pod.UID)]
	switch asked := deletedAt(pod); {
	case !ok:
	case known.DeletedAt.IsZero() && !asked.IsZero():
		s.recordDelay(ChangeDeleting, asked, now)
	default:
		s.recordDelay(ChangeModified, changedAt(known.Conditions, pod.Status.Conditions), now)
	}
}

// lateGone reports the delay with which the watch delivered the removal of a pod's object. While
// the object has a grace period, its timestamp is when deletion was requested, not when the object
// was removed.
func (s *store) lateGone(pod *corev1.Pod, now time.Time) {
	if grace := pod.DeletionGracePeriodSeconds; grace != nil && *grace == 0 {
		s.recordDelay(ChangeDeleted, deletedAt(pod), now)
	}
}

func (s *store) recordDelay(change Change, at, now time.Time) {
	if s.pods.config.Delay != nil && !at.IsZero() {
		s.pods.config.Delay(change, max(0, now.Sub(at)))
	}
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
