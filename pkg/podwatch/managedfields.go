package podwatch

import (
	"bytes"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/internal/untrusted"
)

// scheduledCondition is the key of the condition PodScheduled in a set of managed fields.
var scheduledCondition = []byte(`{\"type\":\"PodScheduled\"}`)

// containsReason reports whether a set of managed fields contains the field "reason" of the condition PodScheduled. A
// scheduler sets a reason if it finds no node for the pod. The kubelet writes PodScheduled without a reason.
// containsReason does not use the name of the field manager, because the kubelet's name can also be k3s or kubelite.
func containsReason(fields []byte) bool {
	_, condition, found := bytes.Cut(fields, scheduledCondition)
	if !found {
		return false
	}
	condition, _, _ = bytes.Cut(condition, []byte(`"k:{`)) // the next condition
	return bytes.Contains(condition, []byte(`"f:reason"`))
}

// latestStatusChange returns the time when the component that wrote status.phase last changed the pod's status. The
// result is zero if this time is unknown. The API server updates the time of an entry in managedFields whenever the
// component changes a field of the entry.
func latestStatusChange(fields []metav1.ManagedFieldsEntry) (at time.Time) {
	for i := range fields {
		entry := &fields[i]
		if entry.Subresource != "status" || entry.Time == nil || entry.FieldsV1 == nil ||
			!bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(`"f:phase":`)) {
			continue
		}
		if stamp := untrusted.Time(*entry.Time); stamp.After(at) {
			at = stamp
		}
	}
	return at
}

// unschedulableAt returns the time when a scheduler last changed the condition PodScheduled of a bound pod. If no
// scheduler changed this condition, the result is zero. When a scheduler binds the pod, the API server sets
// PodScheduled to true without an entry in the managed fields (registry/core/pod/storage). If an entry contains the
// reason of PodScheduled, a scheduler had set PodScheduled to false.
func unschedulableAt(fields []metav1.ManagedFieldsEntry) (at time.Time) {
	for i := range fields {
		entry := &fields[i]
		if entry.Subresource != "status" || entry.Time == nil || entry.FieldsV1 == nil {
			continue
		}
		if !containsReason(entry.FieldsV1.GetRawBytes()) {
			continue
		}
		if stamp := untrusted.Time(*entry.Time); stamp.After(at) {
			at = stamp
		}
	}
	return at
}
