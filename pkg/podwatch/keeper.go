package podwatch

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Keeper keeps whole pod objects. Run calls all methods except Pack and Verified on one goroutine or while it holds a
// lock. Pack and Verified can run at the same time as the other methods. The methods must not block.
type Keeper interface {
	// Pack converts an object before Pods drops most of its fields. Pack must not change the object, and must not keep
	// it. The argument labels has the format of timeline.Pod.Labels. Pods calls the function keep if the object is
	// newer than the known object.
	Pack(pod *corev1.Pod, labels string) (keep func(), err error)
	// Forget is called when the object with a UID is removed.
	Forget(uid string)
	// Received is called when the API server has reported all changes up to a version.
	Received(version string)
	// Connected receives whether the watch is open.
	Connected(connected bool)
	// Verified receives the time of a comparison with the API server after which all objects are correct.
	Verified(at time.Time)
}

// noKeeper is used if no Keeper is configured.
type noKeeper struct{}

func (noKeeper) Pack(*corev1.Pod, string) (func(), error) { return func() {}, nil }
func (noKeeper) Forget(string)                            {}
func (noKeeper) Received(string)                          {}
func (noKeeper) Connected(bool)                           {}
func (noKeeper) Verified(time.Time)                       {}
