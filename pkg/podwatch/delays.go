package podwatch

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// Delays measures how late the watch delivers changes; at is when it did. Its methods are called one
// at a time on a goroutine of Run, never for a list, and must not block. They must not keep or change
// an object, which contains what slim keeps.
type Delays interface {
	// Added gets a pod that is new to the watch.
	Added(pod *corev1.Pod, at time.Time)
	// Changed gets a pod that the watch had delivered before.
	Changed(known timeline.Pod, pod *corev1.Pod, at time.Time)
	// Deleted gets a pod whose object was removed.
	Deleted(pod *corev1.Pod, at time.Time)
}

// noDelays is the Delays if none are configured.
type noDelays struct{}

func (noDelays) Added(*corev1.Pod, time.Time)                 {}
func (noDelays) Changed(timeline.Pod, *corev1.Pod, time.Time) {}
func (noDelays) Deleted(*corev1.Pod, time.Time)               {}
