package podwatch

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// mirrorAnnotation holds, on the mirror of a static pod, the UID under which kubelet and the runtime
// know the pod (kubelet: pkg/kubelet/types, ConfigMirrorAnnotationKey).
const mirrorAnnotation = "kubernetes.io/config.mirror"

// readAnnotation holds, on static pods and their mirrors, when kubelet read the manifest, RFC 3339 with
// nanoseconds (kubelet: pkg/kubelet/types, ConfigFirstSeenAnnotationKey).
const readAnnotation = "kubernetes.io/config.seen"

// staticUID is the UID that kubelet and the runtime know a static pod by; empty for other pods. Anybody who creates a
// pod may set the annotation. Kubelet makes the node the mirror's controller (kubelet: pkg/kubelet/pod,
// CreateMirrorPod), which NodeRestriction demands of it. A reference to a node with a made-up UID has the garbage
// collector delete the pod.
func staticUID(pod *corev1.Pod) string {
	uid, controller := pod.Annotations[mirrorAnnotation], metav1.GetControllerOfNoCopy(pod)
	if len(uid) > maxUID || controller == nil || controller.APIVersion != "v1" || controller.Kind != "Node" ||
		controller.Name != pod.Spec.NodeName {
		return ""
	}
	return uid
}

// readAt is zero when the annotation is absent or no instant.
func readAt(mirror *corev1.Pod) time.Time {
	at, err := time.Parse(time.RFC3339Nano, mirror.Annotations[readAnnotation])
	if err != nil || at.Unix() <= 0 {
		return time.Time{}
	}
	return at.UTC()
}

// isMirror says that a pod is known to the runtime by another UID than its own.
func isMirror(pod timeline.Pod) bool { return pod.RuntimeUID != pod.UID }

// ownUID makes a pod one that the runtime knows by the object's UID.
func ownUID(pod timeline.Pod) timeline.Pod {
	pod.RuntimeUID, pod.ReadAt = pod.UID, time.Time{}
	return pod
}

// claim decides who is known to the runtime by a UID, since whoever is gets what the runtime and kubelet say of it:
// the pod whose own UID it is, before any mirror; of mirrors of one name the latest, since kubelet makes them again;
// of others the one that was created first. It returns the pod as it may call itself, and takes the UID from another
// that had it.
func (s *store) claim(pod timeline.Pod, now time.Time) timeline.Pod {
	if !isMirror(pod) {
		s.takeFrom(s.mirrors[pod.UID], now)
		return pod
	}
	if _, owned := s.seen[pod.RuntimeUID]; owned {
		return ownUID(pod)
	}
	holder, held := s.seen[s.mirrors[pod.RuntimeUID]]
	if held && (holder.Namespace != pod.Namespace || holder.Name != pod.Name) {
		if !pod.CreatedAt.Before(holder.CreatedAt) {
			return ownUID(pod)
		}
		s.takeFrom(holder.UID, now)
	}
	s.mirrors[pod.RuntimeUID] = pod.UID
	return pod
}

// takeFrom tells that a pod, if it is there, is not known to the runtime by the UID that it claimed.
func (s *store) takeFrom(uid string, now time.Time) {
	pod, ok := s.seen[uid]
	if !ok {
		return
	}
	s.unclaim(pod)
	s.seen[uid] = ownUID(pod)
	s.pods.config.Observe(s.ctx, timeline.PodSeen{ArrivedAt: now, Pod: s.seen[uid]})
}

func (s *store) unclaim(pod timeline.Pod) {
	if isMirror(pod) && s.mirrors[pod.RuntimeUID] == pod.UID {
		delete(s.mirrors, pod.RuntimeUID)
	}
}
