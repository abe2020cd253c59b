package podwatch

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// Delays measures the delay between a change of a pod and the delivery of the change by the watch. The last argument of
// each method is the time of the delivery. Pods.Run calls the methods one at a time on one goroutine. Pods.Run does not
// call the methods for items of a list. The methods must not block. The methods must not keep or change an object. An
// object contains only the parts that slimCopy copies.
type Delays interface {
	// Added receives a pod that is new to the watch.
	Added(pod *corev1.Pod, at time.Time)
	// Changed receives a pod that the agent already knew. The argument "known" is the last state that the agent knew
	// before the watch delivered the pod.
	Changed(known timeline.Pod, pod *corev1.Pod, at time.Time)
	// Deleted receives a pod whose object was removed.
	Deleted(pod *corev1.Pod, at time.Time)
}

// noDelays is used if the field Delays of Config is nil.
type noDelays struct{}

func (noDelays) Added(*corev1.Pod, time.Time)                 {}
func (noDelays) Changed(timeline.Pod, *corev1.Pod, time.Time) {}
func (noDelays) Deleted(*corev1.Pod, time.Time)               {}
