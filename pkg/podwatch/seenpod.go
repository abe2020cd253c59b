package podwatch

import (
	"crypto/sha256"
	"encoding/json"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// seenPod is what the store remembers about the latest observation of a pod. Without the field "whole", a seenPod needs
// a tenth of the observation's memory.
type seenPod struct {
	digest          [sha256.Size]byte // digest of the whole observation
	namespace, name string
	createdAt       time.Time
	deletedAt       time.Time
	whole           *timeline.Pod // set if the pod is static or if Delays is configured
}

// seenOf returns the seenPod for an observation. If the argument "whole" is true, the seenPod contains the whole
// observation.
func seenOf(pod timeline.Pod, digest [sha256.Size]byte, whole bool) seenPod {
	s := seenPod{digest: digest, namespace: pod.Namespace, name: pod.Name, createdAt: pod.CreatedAt,
		deletedAt: pod.DeletedAt}
	if whole {
		s.whole = &pod
	}
	return s
}

// digestOf returns a digest of the observation's JSON. Two observations have the same digest only if their JSON is the
// same. The JSON contains all fields of an observation, because recordings also store observations as JSON. If an
// observation contains a time that JSON cannot represent, digestOf returns false.
func digestOf(pod timeline.Pod) (digest [sha256.Size]byte, ok bool) {
	text, err := json.Marshal(pod)
	return sha256.Sum256(text), err == nil
}
