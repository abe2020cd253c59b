package podwatch

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/internal/untrusted"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// maxGrace is one year in seconds. addDeletion replaces a longer grace period with maxGrace.
const maxGrace = 365 * 24 * 3600

// addDeletion adds the details of the pod's deletion, such as its grace period, if the deletion was requested.
func addDeletion(converted *timeline.Pod, pod *corev1.Pod) {
	if converted.DeletedAt.IsZero() {
		return
	}
	if grace := pod.DeletionGracePeriodSeconds; grace != nil {
		converted.DeletionGrace = time.Duration(max(0, min(*grace, maxGrace))) * time.Second
	}
	converted.DeletionObserved = pod.Status.ObservedGeneration > 0 && pod.Status.ObservedGeneration == pod.Generation
	converted.Finalizers = len(pod.Finalizers) > 0
	converted.Disruption = disruptionReason(pod.Status.Conditions)
}

// disruptionReason returns the reason in the condition DisruptionTarget, or an empty string if this condition is not
// true. For example, an eviction sets this condition to true.
func disruptionReason(conditions []corev1.PodCondition) string {
	for _, c := range conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return untrusted.Reason(c.Reason)
		}
	}
	return ""
}
