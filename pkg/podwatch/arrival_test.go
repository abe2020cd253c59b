package podwatch

import (
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestPodWithTooManyContainersIsIgnored creates, changes and deletes a pod with more than maxContainers containers.
func TestPodWithTooManyContainersIsIgnored(t *testing.T) {
	h := newHarness(t)
	pods := NewPods(Config{NodeName: nodeName, Observe: h.Observe, Report: h.Report, Now: h.Clock.Now})
	pods.store.ctx = t.Context()
	crowd := pod("crowd", "crowd")
	manyContainers(crowd)
	for _, take := range []func(any) error{pods.store.Add, pods.store.Update} {
		if err := take(crowd); err != nil {
			t.Fatal(err)
		}
	}
	h.Nothing()
	const why = "ignoring pod ns/crowd: 18001 containers exceed the limit of 256"
	if r := <-h.Reports; !strings.Contains(r.Detail, why) || len(h.Reports) > 0 {
		t.Errorf("reported %+v, and %d more", r, len(h.Reports))
	}
	if err := pods.store.Delete(crowd); err != nil || len(pods.store.seen) > 0 {
		t.Errorf("%v, %d pods are left", err, len(pods.store.seen))
	}
}

// TestSlimKeepsWhatFollowersNeed copies an ordinary pod.
func TestSlimKeepsWhatFollowersNeed(t *testing.T) {
	p := pod("web", "1")
	p.Labels, p.Annotations = map[string]string{"app": "web"}, map[string]string{"addtime": ""}
	p.OwnerReferences = []metav1.OwnerReference{
		{Kind: "Other", UID: types.UID("x")}, {Kind: "DaemonSet", Name: "web", Controller: to(true)},
	}
	applied := metav1.ManagedFieldsEntry{
		Manager: "podlapse", Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(`{"f:a":{}}`),
	}
	updated := metav1.ManagedFieldsEntry{Manager: "kubelet", Operation: metav1.ManagedFieldsOperationUpdate}
	p.ManagedFields = []metav1.ManagedFieldsEntry{updated, applied}
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: stamp(1)}
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning,
		Conditions:        []corev1.PodCondition{ready},
		ContainerStatuses: []corev1.ContainerStatus{{Name: "app", RestartCount: 2}}}
	got := slimCopy(p)
	if got.Labels["app"] != "web" || len(got.Annotations) != 1 ||
		len(got.OwnerReferences) != 1 || got.OwnerReferences[0].Name != "web" ||
		!reflect.DeepEqual(got.ManagedFields, []metav1.ManagedFieldsEntry{applied}) || got.Spec.NodeName != nodeName ||
		!reflect.DeepEqual(got.Status.Conditions, p.Status.Conditions) ||
		got.Status.ContainerStatuses[0].RestartCount != 2 {
		t.Errorf("got %+v", got)
	}
}
