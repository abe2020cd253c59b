package podwatch

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/internal/untrusted"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// mirrorAnnotation is an annotation on the mirror of a static pod. mirrorAnnotation contains the UID that the
// kubelet and the runtime use for the pod (kubelet: pkg/kubelet/types, ConfigMirrorAnnotationKey).
const mirrorAnnotation = "kubernetes.io/config.mirror"

// readAnnotation is an annotation on static pods and their mirrors. readAnnotation contains the time when the
// kubelet read the manifest, in RFC 3339 with nanoseconds (kubelet: pkg/kubelet/types,
// ConfigFirstSeenAnnotationKey).
const readAnnotation = "kubernetes.io/config.seen"

// staticUID returns the UID that the kubelet and the runtime use for a static pod. If the pod is not the mirror of a
// static pod, staticUID returns an empty string. Anyone who creates a pod can set the annotation, so staticUID also
// checks the controller. The controller of a mirror is the Node object. The kubelet sets this controller (kubelet:
// pkg/kubelet/pod, CreateMirrorPod), and the admission plugin NodeRestriction requires it. If no Node has the UID in
// the owner reference, the garbage collector deletes the pod.
func staticUID(pod *corev1.Pod) string {
	uid, controller := pod.Annotations[mirrorAnnotation], metav1.GetControllerOfNoCopy(pod)
	if len(uid) > untrusted.MaxUID || controller == nil || controller.APIVersion != "v1" || controller.Kind != "Node" ||
		controller.Name != pod.Spec.NodeName {
		return ""
	}
	return uid
}

// readAt returns the time in readAnnotation, or zero if this annotation is absent or invalid.
func readAt(mirror *corev1.Pod) time.Time {
	at, err := time.Parse(time.RFC3339Nano, mirror.Annotations[readAnnotation])
	if err != nil || at.Unix() <= 0 {
		return time.Time{}
	}
	return at.UTC()
}

// isMirror reports whether the runtime and the API server use different UIDs for a pod.
func isMirror(pod timeline.Pod) bool { return pod.RuntimeUID != pod.UID }

// ownUID returns a copy of a mirror without the data of the static pod. In the copy, RuntimeUID equals UID, and ReadAt
// is zero.
func ownUID(pod timeline.Pod) timeline.Pod {
	pod.RuntimeUID, pod.ReadAt = pod.UID, time.Time{}
	return pod
}

// assignUID decides which pod owns a UID in the runtime. Several pods can claim the same UID. Only the owner receives
// the evidence from the runtime and the kubelet. An ordinary pod takes precedence over any mirror that claims the same
// UID. Among mirrors with the same name, the latest mirror owns the UID, because the kubelet recreates mirrors. Among
// mirrors with different names, the mirror that was created first owns the UID. assignUID returns a copy of the pod. If
// the pod owns the UID in the runtime, the field RuntimeUID of the copy contains this UID. If another pod owns the UID,
// the field RuntimeUID of the copy contains the pod's UID in the API server. If a mirror takes over the UID of a mirror
// with another name, assignUID calls takeFrom for the former owner. If an ordinary pod takes the UID from any mirror,
// assignUID also calls takeFrom for the mirror.
func (s *podStore) assignUID(pod timeline.Pod, now time.Time) timeline.Pod {
	if !isMirror(pod) {
		s.takeFrom(s.mirrorOf[pod.UID], now)
		return pod
	}
	if _, owned := s.seen[pod.RuntimeUID]; owned {
		return ownUID(pod)
	}
	uid := s.mirrorOf[pod.RuntimeUID]
	holder, held := s.seen[uid]
	if held && (holder.namespace != pod.Namespace || holder.name != pod.Name) {
		if !pod.CreatedAt.Before(holder.createdAt) {
			return ownUID(pod)
		}
		s.takeFrom(uid, now)
	}
	s.mirrorOf[pod.RuntimeUID] = pod.UID
	return pod
}

// takeFrom changes a mirror into an ordinary pod, so that another pod can own the mirror's UID in the runtime. takeFrom
// also passes the former mirror to Observe. The argument "uid" is the mirror's UID in the API server. If the store does
// not contain the mirror, takeFrom does nothing.
func (s *podStore) takeFrom(uid string, now time.Time) {
	mirror := s.seen[uid].whole
	if mirror == nil {
		return
	}
	s.releaseUID(uid)
	pod := ownUID(*mirror)
	digest, _ := digestOf(pod)
	s.seen[uid] = seenOf(pod, digest, true)
	s.pods.config.Observe(s.ctx, timeline.PodSeen{ArrivedAt: now, Pod: pod})
}

// releaseUID removes the mirror's entry from the map mirrorOf. After the removal, the mirror does not own a UID in the
// runtime.
func (s *podStore) releaseUID(uid string) {
	if pod := s.seen[uid].whole; pod != nil && isMirror(*pod) && s.mirrorOf[pod.RuntimeUID] == uid {
		delete(s.mirrorOf, pod.RuntimeUID)
	}
}
