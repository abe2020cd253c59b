package podwatch

import (
	"crypto/sha256"
	"encoding/json"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// seenPod is what the store remembers about the latest observation of a pod. A seenPod needs a tenth of the
// observation's memory.
type seenPod struct {
	digest          [sha256.Size]byte // digest of the whole observation
	namespace, name string
	createdAt       time.Time
	deletedAt       time.Time
	whole           *timeline.Pod // set for static pods; if Delays is configured, set for all pods
}

// seenOf keeps the whole observation if the argument "whole" is true.
func seenOf(pod timeline.Pod, digest [sha256.Size]byte, whole bool) seenPod {
	s := seenPod{digest: digest, namespace: pod.Namespace, name: pod.Name, createdAt: pod.CreatedAt,
		deletedAt: pod.DeletedAt}
	if whole {
		s.whole = &pod
	}
	return s
}

// digestOf returns the same digest only for observations with the same JSON. The JSON contains all fields of an
// observation, because recordings also store observations as JSON. If JSON cannot represent a time, digestOf returns
// false.
func digestOf(pod timeline.Pod) (digest [sha256.Size]byte, ok bool) {
	text, err := json.Marshal(pod)
	return sha256.Sum256(text), err == nil
}
