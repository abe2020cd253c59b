package podwatch

import corev1 "k8s.io/api/core/v1"

// Follower receives a small copy of each pod object of the node. The type Pods calls the methods one at a time, on the
// goroutine of Run or of a Verifier. The methods must not block. The methods must not keep or change an object. Objects
// contain only the parts that slimCopy copies: metadata up to a size limit, the node's name, the phase, conditions,
// restarts, and the names and restart policies of init containers.
type Follower interface {
	// Seen receives the object after every change.
	Seen(*corev1.Pod)
	// Restarted receives the restarts that Pods.Restarts counts. After Restarted, Seen receives the same object.
	Restarted(*corev1.Pod, Restart)
	// Gone receives the UID of a pod whose object was removed.
	Gone(uid string)
}

// noFollower is used if no Follower is configured.
type noFollower struct{}

func (noFollower) Seen(*corev1.Pod)               {}
func (noFollower) Restarted(*corev1.Pod, Restart) {}
func (noFollower) Gone(string)                    {}
