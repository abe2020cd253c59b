package podwatch

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// conditionFields lists the fields that kube-scheduler 1.36 manages in a pod that at first fit on no node.
const conditionFields = `{"f:status":{"f:conditions":{"k:{\"type\":\"PodScheduled\"}":{".":{},"f:lastProbeTime":{},` +
	`"f:lastTransitionTime":{},"f:message":{},"f:reason":{},"f:status":{},"f:type":{}}}}}`

func schedulerEntry(at metav1.Time) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: "kube-scheduler", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status",
		Time: &at, FieldsV1: metav1.NewFieldsV1(conditionFields),
	}
}

func TestUnschedulableAt(t *testing.T) {
	change := func(edit func(*metav1.ManagedFieldsEntry)) metav1.ManagedFieldsEntry {
		entry := schedulerEntry(stamp(3))
		edit(&entry)
		return entry
	}
	tests := []struct {
		name   string
		fields []metav1.ManagedFieldsEntry
		want   time.Time
	}{
		{"none", nil, time.Time{}},
		{"the scheduler", []metav1.ManagedFieldsEntry{schedulerEntry(stamp(3))}, at(3)},
		{"another scheduler, later", []metav1.ManagedFieldsEntry{
			schedulerEntry(stamp(3)), change(func(e *metav1.ManagedFieldsEntry) {
				e.Manager, e.Time = "volcano", new(stamp(5))
			}),
		}, at(5)},
		{"kubelet in k3s", []metav1.ManagedFieldsEntry{change(func(e *metav1.ManagedFieldsEntry) {
			e.Manager = "k3s"
			e.FieldsV1 = metav1.NewFieldsV1(
				`{"f:status":{"f:conditions":{"k:{\"type\":\"PodScheduled\"}":{"f:observedGeneration":{}},` +
					`"k:{\"type\":\"Ready\"}":{".":{},"f:reason":{}}}}}`)
		})}, time.Time{}},
		{"not the status", []metav1.ManagedFieldsEntry{change(func(e *metav1.ManagedFieldsEntry) {
			e.Subresource = ""
		})}, time.Time{}},
		{"another condition", []metav1.ManagedFieldsEntry{change(func(e *metav1.ManagedFieldsEntry) {
			e.FieldsV1 = metav1.NewFieldsV1(`{"f:status":{"f:conditions":{"k:{\"type\":\"example.com/Gate\"}":{}}}}`)
		})}, time.Time{}},
		{"a nominated node alone", []metav1.ManagedFieldsEntry{change(func(e *metav1.ManagedFieldsEntry) {
			e.FieldsV1 = metav1.NewFieldsV1(`{"f:status":{"f:nominatedNodeName":{}}}`)
		})}, time.Time{}},
		{"no time, no fields", []metav1.ManagedFieldsEntry{
			change(func(e *metav1.ManagedFieldsEntry) { e.Time = nil }),
			change(func(e *metav1.ManagedFieldsEntry) { e.FieldsV1 = nil }),
		}, time.Time{}},
	}
	for _, test := range tests {
		got := convertPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{ManagedFields: test.fields}}).UnschedulableAt
		if !got.Equal(test.want) {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}
