package podwatch

import (
	"bytes"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kubeletManager is what kubelet goes by in managed fields: its own conditions say nothing of a scheduler.
const kubeletManager = "kubelet"

// scheduledCondition is the key of the condition PodScheduled in a set of managed fields.
var scheduledCondition = []byte(`{\"type\":\"PodScheduled\"}`)

// unschedulableAt is when a scheduler last changed the condition PodScheduled of a pod that has been bound since; zero if none
// did. Binding the pod makes the condition true without an entry in the managed fields (registry/core/pod/storage), so
// an entry proves that a scheduler had made it false.
func unschedulableAt(fields []metav1.ManagedFieldsEntry) (at time.Time) {
	for i := range fields {
		entry := &fields[i]
		if entry.Subresource != "status" || entry.Manager == kubeletManager || entry.Time == nil || entry.FieldsV1 == nil {
			continue
		}
		if !bytes.Contains(entry.FieldsV1.GetRawBytes(), scheduledCondition) {
			continue
		}
		if stamp := instant(*entry.Time); stamp.After(at) {
			at = stamp
		}
	}
	return at
}
