package podwatch

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestTextsAreBounded fills every text that a pod's creator can choose, up to the size limit of objects.
func TestTextsAreBounded(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	controller := true
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{UID: "u", Namespace: "ns", Name: "pod",
			Annotations: map[string]string{mirrorAnnotation: long, readAnnotation: long,
				traceParentAnnotation: long},
			Labels:          map[string]string{"app": "web", "b" + long: "x", "c": long},
			OwnerReferences: []metav1.OwnerReference{{Kind: long, Name: long, Controller: &controller}}},
		Spec: corev1.PodSpec{Volumes: []corev1.Volume{
			{VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: long}}}},
			InitContainers: []corev1.Container{{Name: "setup", Image: long}},
			Containers:     []corev1.Container{{Name: "app", Image: long}}},
		Status: corev1.PodStatus{Reason: long, Conditions: []corev1.PodCondition{{Type: corev1.PodConditionType(long)}},
			ContainerStatuses: []corev1.ContainerStatus{
				{Name: "app", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: long,
					Message: long}}}}},
	}
	for range 1000 {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: "made/up"})
	}
	for i := range 100_000 {
		pod.Labels[fmt.Sprint("label-", i)] = ""
	}
	converted := convertPod(pod)
	if size := textsOf(reflect.ValueOf(converted)); size > maxLabels+16<<10 {
		t.Errorf("the agent keeps %d bytes of the pod", size)
	}
	if !strings.HasPrefix(converted.Labels, "app=web,") {
		t.Errorf("labels begin with %.40q", converted.Labels)
	}
	if converted.RuntimeUID != "u" {
		t.Errorf("the runtime UID is %.40q", converted.RuntimeUID)
	}
}

// textsOf returns the total length of all texts in a value.
func textsOf(v reflect.Value) (size int) {
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Pointer:
		if !v.IsNil() {
			return textsOf(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			size += textsOf(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type() != reflect.TypeFor[time.Time]() {
				size += textsOf(v.Field(i))
			}
		}
	}
	return size
}
