package podwatch

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/internal/untrusted"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// mirrorAnnotation holds, on the mirror of a static pod, the UID by which the kubelet and the
// runtime know the pod (kubelet: pkg/kubelet/types, ConfigMirrorAnnotationKey).
const mirrorAnnotation = "kubernetes.io/config.mirror"

// readAnnotation holds, on static pods and their mirrors, when the kubelet read the manifest, in
// RFC 3339 with nanoseconds (kubelet: pkg/kubelet/types, ConfigFirstSeenAnnotationKey).
const readAnnotation = "kubernetes.io/config.seen"

// staticUID returns the UID by which the kubelet and the runtime know a static pod; empty for other
// pods. Anyone who creates a pod may set the annotation. The kubelet makes the Node the mirror's
// controller (kubelet: pkg/kubelet/pod, CreateMirrorPod), which NodeRestriction requires. If the
// reference has an invented node UID, the garbage collector deletes the pod.
func staticUID(pod *corev1.Pod) string {
	uid, controller := pod.Annotations[mirrorAnnotation], metav1.GetControllerOfNoCopy(pod)
	if len(uid) > untrusted.MaxUID || controller == nil || controller.APIVersion != "v1" || controller.Kind != "Node" ||
		controller.Name != pod.Spec.NodeName {
		return ""
	}
	return uid
}

// readAt returns zero if the annotation is absent or invalid.
func readAt(mirror *corev1.Pod) time.Time {
	at, err := time.Parse(time.RFC3339Nano, mirror.Annotations[readAnnotation])
	if err != nil || at.Unix() <= 0 {
		return time.Time{}
	}
	return at.UTC()
}

// isMirror reports whether the runtime knows a pod by a UID other than its own.
func isMirror(pod timeline.Pod) bool { return pod.RuntimeUID != pod.UID }

// ownUID returns a copy of the pod that the runtime knows by the object's UID.
func ownUID(pod timeline.Pod) timeline.Pod {
	pod.RuntimeUID, pod.ReadAt = pod.UID, time.Time{}
	return pod
}

// claim decides which pod the runtime means by a UID, because that pod gets the evidence of the runtime and the
// kubelet. A pod with this UID of its own comes before any mirror. Among mirrors with one name, the latest counts,
// because the kubelet recreates them; among others, the one that was created first. It returns the pod with the UID
// that it may use, and takes the UID from another pod that had it.
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

// takeFrom observes that the runtime does not know a pod, if it is present, by the UID that the pod claimed.
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
