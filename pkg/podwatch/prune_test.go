package podwatch

import (
	"bytes"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// frameSize is the length before each frame of a watch, which is no part of the event.
const frameSize = 4

func largePod(text string) *corev1.Pod {
	container := corev1.Container{Name: "app", Image: "shop", Command: []string{text}, Args: []string{"", text},
		Env: []corev1.EnvVar{{Name: "A", Value: text}}, Ports: []corev1.ContainerPort{{ContainerPort: 80}},
		ReadinessProbe: &corev1.Probe{PeriodSeconds: 3}}
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: "web-0", Namespace: "shop", UID: "u",
			Annotations: map[string]string{"a": text}},
		Spec: corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{container, {}},
			InitContainers: []corev1.Container{container}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning,
			ContainerStatuses: []corev1.ContainerStatus{{Name: "app", Ready: true, RestartCount: 2}}},
	}
}

// withoutUnread is what is left of a pod.
func withoutUnread(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			containers[i].Command, containers[i].Args, containers[i].Env = nil, nil, nil
		}
	}
	return pod
}

// decodedEvent is an event of a watch as client-go decodes it.
func decodedEvent(t testing.TB, event []byte) k8sruntime.Object {
	t.Helper()
	scheme := k8sruntime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	var wire metav1.WatchEvent
	if err := wire.Unmarshal(event); err != nil {
		t.Fatal(err)
	}
	object, err := k8sruntime.Decode(serializer.NewCodecFactory(scheme).UniversalDeserializer(), wire.Object.Raw)
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func TestPrunedPodsLackOnlyWhatIsNotRead(t *testing.T) {
	pod := largePod("text")
	event := protobufFrame(t, watch.Modified, pod)[frameSize:]
	got := decodedEvent(t, prunePod(bytes.Clone(event)))
	if want := withoutUnread(decodedEvent(t, event).(*corev1.Pod)); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	for name, object := range map[string]k8sruntime.Object{
		"a node": &corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
			Spec: corev1.NodeSpec{ProviderID: "x", Unschedulable: true}},
		"an error": &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
			Status: metav1.StatusFailure, Code: 410,
			Message: "too old resource version"},
	} {
		event := protobufFrame(t, watch.Error, object)[frameSize:]
		if got := prunePod(bytes.Clone(event)); !bytes.Equal(got, event) {
			t.Errorf("%s was changed", name)
		}
	}
}

// TestLargePodsCostLittleToWatch is of pods of 1.4 MB, each of which changes again and again.
func TestLargePodsCostLittleToWatch(t *testing.T) {
	const events, most = 20, 200 << 10
	large := largePod(strings.Repeat("x", 200<<10))
	large.Annotations = nil
	frame := protobufFrame(t, watch.Modified, large)
	server := stream(t, func(w io.Writer) {
		for range events {
			_, _ = w.Write(frame)
		}
	})
	config := &rest.Config{Host: server.URL}
	client, err := NewPodClient(config)
	if err != nil {
		t.Fatal(err)
	}
	w, err := resource{client: client, name: "pods"}.watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	next := func() {
		event := <-w.ResultChan()
		if pod, ok := event.Object.(*corev1.Pod); !ok || pod.Name != "web-0" || pod.Spec.Containers[0].Env != nil {
			t.Fatalf("got %s %v", event.Type, event.Object)
		}
	}
	next() // with it the buffers grow
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range events - 1 {
		next()
	}
	runtime.ReadMemStats(&after)
	each := (after.TotalAlloc - before.TotalAlloc) / (events - 1)
	t.Logf("%d bytes for each event of %d", each, len(frame))
	if each > most {
		t.Errorf("%d bytes were allocated for each event, want at most %d", each, most)
	}
}

func FuzzPrunePod(f *testing.F) {
	f.Add(protobufFrame(f, watch.Modified, largePod("text"))[frameSize:])
	f.Add([]byte{})
	f.Add([]byte("\x12\x06\x0a\x04k8s\x00"))
	f.Fuzz(func(t *testing.T, event []byte) {
		pruned := bytes.Clone(prunePod(bytes.Clone(event)))
		if again := prunePod(bytes.Clone(pruned)); !bytes.Equal(again, pruned) {
			t.Errorf("pruned again %q becomes %q", pruned, again)
		}
	})
}
