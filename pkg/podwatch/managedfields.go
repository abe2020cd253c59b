package podwatch

import (
	"bytes"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/internal/untrusted"
)

// scheduledCondition is the key of the condition PodScheduled in a set of managed fields.
var scheduledCondition = []byte(`{\"type\":\"PodScheduled\"}`)

// scheduledFields returns the part of a set of managed fields that lists the fields of the condition PodScheduled. The
// result is empty if the set does not contain this condition. A scheduler sets the field "reason" if it finds no node
// for the pod. The kubelet writes PodScheduled without the field "reason". So the agent distinguishes a scheduler from
// the kubelet without the name of the field manager. The kubelet's name can also be k3s or kubelite.
func scheduledFields(fields []byte) []byte {
	_, condition, _ := bytes.Cut(fields, scheduledCondition)
	condition, _, _ = bytes.Cut(condition, []byte(`"k:{`)) // the next condition
	return condition
}

var (
	reasonField    = []byte(`"f:reason"`)
	typeField      = []byte(`"f:type"`)
	startTimeField = []byte(`"f:startTime"`)
)

// scheduledByKubelet reports whether the kubelet wrote the whole condition PodScheduled. Only the kubelet sets
// status.startTime. If the API server had written PodScheduled before, the kubelet would have changed at most the field
// observedGeneration of this condition.
func scheduledByKubelet(fields []metav1.ManagedFieldsEntry) bool {
	return slices.ContainsFunc(fields, func(entry metav1.ManagedFieldsEntry) bool {
		if entry.Subresource != "status" || entry.FieldsV1 == nil {
			return false
		}
		written := entry.FieldsV1.GetRawBytes()
		scheduled := scheduledFields(written)
		return bytes.Contains(scheduled, typeField) && !bytes.Contains(scheduled, reasonField) &&
			bytes.Contains(written, startTimeField)
	})
}

// latestStatusChange returns the time when the component that wrote status.phase last changed the pod's status. The
// result is zero if this time is unknown.
func latestStatusChange(fields []metav1.ManagedFieldsEntry) time.Time {
	return latestChange(fields, func(written []byte) bool { return bytes.Contains(written, []byte(`"f:phase":`)) })
}

// unschedulableAt returns the time when a scheduler last changed the condition PodScheduled of a bound pod. If no
// scheduler changed this condition, the result is zero. When a scheduler binds the pod, the API server sets
// PodScheduled to true without an entry in the managed fields (registry/core/pod/storage). If an entry contains the
// reason of PodScheduled, a scheduler set PodScheduled to false before the binding.
func unschedulableAt(fields []metav1.ManagedFieldsEntry) time.Time {
	return latestChange(fields, func(written []byte) bool {
		return bytes.Contains(scheduledFields(written), reasonField)
	})
}

// latestChange returns the latest time of an entry about the pod's status for which the function "matches" returns
// true. The argument of "matches" contains the fields of the entry. The API server updates the time of an entry in
// managedFields whenever the component changes a field of the entry.
func latestChange(fields []metav1.ManagedFieldsEntry, matches func(written []byte) bool) (at time.Time) {
	for i := range fields {
		entry := &fields[i]
		if entry.Subresource != "status" || entry.Time == nil || entry.FieldsV1 == nil ||
			!matches(entry.FieldsV1.GetRawBytes()) {
			continue
		}
		if stamp := untrusted.Time(*entry.Time); stamp.After(at) {
			at = stamp
		}
	}
	return at
}
