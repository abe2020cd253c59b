package podwatch

import corev1 "k8s.io/api/core/v1"

// Follower follows the pods of the node. Its methods are called one at a time on a goroutine of
// Run, and must not block. They must not keep or change an object. Objects contain what slim keeps:
// metadata within limits, the node's name, the phase, conditions, and restarts.
type Follower interface {
	// Seen gets the object at every change.
	Seen(*corev1.Pod)
	// Restarted gets what Pods.Restarts counts, before Seen.
	Restarted(*corev1.Pod, Restart)
	// Gone is called when the object with a UID is removed.
	Gone(uid string)
}

// noFollower is the Follower if none is configured.
type noFollower struct{}

func (noFollower) Seen(*corev1.Pod)               {}
func (noFollower) Restarted(*corev1.Pod, Restart) {}
func (noFollower) Gone(string)                    {}
