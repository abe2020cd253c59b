package podwatch

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Keeper keeps whole pod objects. Pack and Verified can run at the same time as any other method. The type Pods calls
// the other methods only on the goroutine of Run, or while Pods holds its lock. The methods must not block.
type Keeper interface {
	// Pack converts a whole object to the form that the Keeper keeps. The type Pods then drops most of the object's
	// fields. Pack must not change or keep the object. The argument "labels" has the format of timeline.Pod.Labels. If
	// the object is newer than the known object, the type Pods later calls the returned function "keep".
	Pack(pod *corev1.Pod, labels string) (keep func(), err error)
	// Forget receives the UID of a pod whose object was removed.
	Forget(uid string)
	// Received receives a resource version when the API server has reported all changes up to this version.
	Received(version string)
	// Connected receives true after a list and when a watch opens. Connected receives false if the watch fails.
	Connected(connected bool)
	// Verified receives the time of a comparison with the API server. After the comparison, the Keeper's objects
	// contain all changes up to this time.
	Verified(at time.Time)
}

// noKeeper is used if no Keeper is configured.
type noKeeper struct{}

func (noKeeper) Pack(*corev1.Pod, string) (func(), error) { return func() {}, nil }
func (noKeeper) Forget(string)                            {}
func (noKeeper) Received(string)                          {}
func (noKeeper) Connected(bool)                           {}
func (noKeeper) Verified(time.Time)                       {}
