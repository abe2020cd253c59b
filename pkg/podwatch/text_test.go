package podwatch

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/internal/untrusted"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestTextsAreBounded fills every text of a pod object that whoever makes pods may fill with as
// much as an object may have.
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
		t.Errorf("%d bytes are kept of the pod", size)
	}
	if !strings.HasPrefix(converted.Labels, "app=web,") {
		t.Errorf("labels begin with %.40q", converted.Labels)
	}
	if converted.RuntimeUID != "u" {
		t.Errorf("the pod goes by %.40q", converted.RuntimeUID)
	}
	event := kubeletEvent("u", long, at(1))
	event.InvolvedObject.FieldPath, event.Message = "spec.containers{"+long+"}", long
	if size := textsOf(reflect.ValueOf(convertEvent(event, "u", at(0), at(1)))); size > 2*untrusted.MaxMessage {
		t.Errorf("%d bytes are kept of the Event", size)
	}
}

// textsOf sums up the lengths of all texts in a value.
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

// TestHostileEventsCostLittle is of Events that anybody may make who may create some in the pod's
// namespace, each as large as etcd takes.
func TestHostileEventsCostLittle(t *testing.T) {
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	pod := timeline.Pod{UID: "u", Namespace: "ns", Name: "pod", CreatedAt: at(0),
		Containers: []timeline.Container{{Name: "app", Image: "x"}}}
	e := timeline.NewEvidence(timeline.Scope{Events: true})
	e.Apply(timeline.PodSeen{ArrivedAt: at(0), Live: true, Pod: pod})
	var log timeline.PullLog
	seen := newMemory(maxRemembered)
	before := heap()
	for i := range 40 {
		name := fmt.Sprintf("%08d", i) + strings.Repeat("x", 1<<20)
		for _, made := range [][3]string{
			{"Pulling", "spec.containers{" + name + "}", `Pulling image "x"`},
			{"Pulling", "spec.containers{" + name[:60] + "}", `Pulling image "x"`},
			{"Pulling", "", `Pulling image "` + name + `"`},
			{"Pulled", "spec.containers{app}",
				`Successfully pulled image "` + name[:600] + `" in 1s (1s including waiting)` + name},
			{"Failed", "spec.containers{app}", `Failed to pull image "` + name[:600] + `": ` + name},
			{name, "spec.containers{app}", name},
		} {
			event := kubeletEvent("u", made[0], at(1).Add(time.Duration(i)*time.Second))
			event.InvolvedObject.FieldPath, event.Message = made[1], made[2]
			o := convertEvent(event, "u", at(0), at(1))
			e.Apply(o)
			log.Observe(o, pod)
			seen.add(involved{"ns", "pod", "u"}, keyOf(event), o)
		}
	}
	if grown := heap() - before; grown > 4<<20 {
		t.Errorf("240 Events about one pod: the heap grew by %d KiB", grown>>10)
	}
	runtime.KeepAlive(e)
	runtime.KeepAlive(&log)
	runtime.KeepAlive(seen)
}
