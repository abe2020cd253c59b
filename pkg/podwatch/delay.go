package podwatch

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// Change is what the pod watch told of a pod.
type Change string

// The changes whose own time the object holds. All stamps have whole seconds.
const (
	// it came to the node: when it was bound or, where it never waited for that, created
	ChangeBound    Change = "bound"
	ChangeModified Change = "modified" // one of kubelet's conditions changed: its lastTransitionTime
	ChangeDeleting Change = "deleting" // its deletion was asked for: deletionTimestamp without the grace period
	ChangeDeleted  Change = "deleted"  // it is gone: when kubelet asked for that, without any grace
)

// Changes lists every change.
func Changes() []Change {
	return []Change{ChangeBound, ChangeModified, ChangeDeleting, ChangeDeleted}
}

// kubeletsConditions are those that kubelet stamps, by the node's clock (kubelet:
// pkg/kubelet/types, PodConditionByKubelet). PodScheduled is the control plane's, and readiness
// gates are anybody's.
var kubeletsConditions = map[string]bool{
	string(corev1.PodInitialized): true, string(corev1.ContainersReady): true, string(corev1.PodReady): true,
	string(corev1.PodReadyToStartContainers): true,
}

// lateBound tells how late the watch brought a pod that came. The watch's own events are never
// repetitions: it goes on where it ended.
func (s *store) lateBound(pod *corev1.Pod, now time.Time) {
	s.tellDelay(ChangeBound, boundAt(pod), now)
}

// lateChange tells how late the watch brought a change of a pod that was known before.
func (s *store) lateChange(pod *corev1.Pod, now time.Time) {
	known, ok := s.seen[string(pod.UID)]
	switch asked := deletedAt(pod); {
	case !ok:
	case known.DeletedAt.IsZero() && !asked.IsZero():
		s.tellDelay(ChangeDeleting, asked, now)
	default:
		s.tellDelay(ChangeModified, changedAt(known.Conditions, pod.Status.Conditions), now)
	}
}

// lateGone tells how late the watch brought the end of a pod's object. While a grace period is in
// the object it tells when the end was asked for, not when it came.
func (s *store) lateGone(pod *corev1.Pod, now time.Time) {
	if grace := pod.DeletionGracePeriodSeconds; grace != nil && *grace == 0 {
		s.tellDelay(ChangeDeleted, deletedAt(pod), now)
	}
}

func (s *store) tellDelay(change Change, at, now time.Time) {
	if s.pods.config.Delay != nil && !at.IsZero() {
		s.pods.config.Delay(change, max(0, now.Sub(at)))
	}
}

// boundAt is since when the watch, which asks for one node's pods, has had something to tell:
// before, the pod was nobody's.
func boundAt(pod *corev1.Pod) time.Time {
	at := instant(pod.CreationTimestamp)
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue &&
			instant(c.LastTransitionTime).After(at) {
			at = instant(c.LastTransitionTime)
		}
	}
	return at
}

// changedAt is when kubelet last changed one of its conditions, zero if none of them changed.
func changedAt(before []timeline.Condition, now []corev1.PodCondition) (at time.Time) {
	for i := range now {
		kind, stamp := string(now[i].Type), instant(now[i].LastTransitionTime)
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
