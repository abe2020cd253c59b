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

func TestScheduledByKubelet(t *testing.T) {
	const (
		condition = `"k:{\"type\":\"PodScheduled\"}":`
		refused   = condition + `{".":{},"f:reason":{},"f:type":{}},`
	)
	kubelet := func(scheduled string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: "kubelet", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status",
			Time: new(stamp(3)), FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:conditions":{` + scheduled +
				`"k:{\"type\":\"Ready\"}":{".":{},"f:reason":{},"f:type":{}}},"f:startTime":{}}}`),
		}
	}
	whole := kubelet(condition + `{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}},`)
	ofSpec := whole
	ofSpec.Subresource = ""
	withoutFields := whole
	withoutFields.FieldsV1 = nil
	for name, test := range map[string]struct {
		entry metav1.ManagedFieldsEntry
		want  bool
	}{
		"the creator set the node":                  {whole, true},
		"bound by a scheduler, kubelet before 1.34": {kubelet(""), false},
		"bound by a scheduler":                      {kubelet(condition + `{"f:observedGeneration":{}},`), false},
		"unschedulable at first, in k3s":            {kubelet(refused), false},
		"the scheduler":                             {schedulerEntry(stamp(3)), false},
		"not the status":                            {ofSpec, false},
		"no fields":                                 {withoutFields, false},
	} {
		got := convertPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			ManagedFields: []metav1.ManagedFieldsEntry{test.entry}}}).ScheduledByKubelet
		if got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestFailedBy(t *testing.T) {
	entry := func(second int, subresource, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: "kubelet", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: subresource,
			Time: new(stamp(second)), FieldsV1: metav1.NewFieldsV1(fields),
		}
	}
	const phase, conditions = `{"f:status":{"f:phase":{},"f:podIP":{}}}`, `{"f:status":{"f:conditions":{}}}`
	noTime := entry(3, "status", phase)
	noTime.Time = nil
	tests := []struct {
		name   string
		phase  corev1.PodPhase
		fields []metav1.ManagedFieldsEntry
		want   time.Time
	}{
		{"the kubelet", corev1.PodFailed, []metav1.ManagedFieldsEntry{entry(3, "status", phase)}, at(3)},
		{"another writer of conditions, later", corev1.PodFailed,
			[]metav1.ManagedFieldsEntry{entry(3, "status", phase), entry(5, "status", conditions)}, at(3)},
		{"two writers of the phase", corev1.PodFailed,
			[]metav1.ManagedFieldsEntry{entry(5, "status", phase), entry(3, "status", phase)}, at(5)},
		{"a label with this name", corev1.PodFailed,
			[]metav1.ManagedFieldsEntry{entry(3, "", `{"f:metadata":{"f:labels":{"f:phase":{}}}}`)}, time.Time{}},
		{"no time", corev1.PodFailed, []metav1.ManagedFieldsEntry{noTime}, time.Time{}},
		{"not failed", corev1.PodRunning, []metav1.ManagedFieldsEntry{entry(3, "status", phase)}, time.Time{}},
	}
	for _, test := range tests {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ManagedFields: test.fields}}
		pod.Status.Phase = test.phase
		if got := convertPod(pod).FailedBy; !got.Equal(test.want) {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}
