package podwatch

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/randfill"

	"github.com/podlapse/podlapse/internal/kubeclient"
	"github.com/podlapse/podlapse/internal/kubeclient/kubeclienttest"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// frameSize is the length of the prefix of each frame of a watch. The prefix is not part of the event.
const frameSize = 4

// filledPod returns a pod with every field set. Each string field of the spec contains the given text.
func filledPod(t testing.TB, seed int64, text string) *corev1.Pod {
	t.Helper()
	filler := randfill.NewWithSeed(seed).NilChance(0).NumElements(1, 2).MaxDepth(20).Funcs(
		func(q *apiresource.Quantity, _ randfill.Continue) { *q = apiresource.MustParse("1") },
		func(s *string, _ randfill.Continue) { *s = text },
		func(m *map[string]string, _ randfill.Continue) { *m = map[string]string{"a": text} })
	pod := &corev1.Pod{}
	filler.Fill(&pod.Spec)
	pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	pod.ObjectMeta = metav1.ObjectMeta{Name: "web-0", Namespace: "shop", UID: "u",
		Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"traceparent": "00"}}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning,
		ContainerStatuses: []corev1.ContainerStatus{{Name: text, Ready: true, RestartCount: 2}}}
	return pod
}

// largePod returns a pod that is large because of fields that tenants can fill.
func largePod(text string) *corev1.Pod {
	exec := corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{text}}}
	container := corev1.Container{Name: "app", Image: "shop", Command: []string{text}, Args: []string{"", text},
		Env: []corev1.EnvVar{{Name: "A", Value: text}}, ReadinessProbe: &corev1.Probe{ProbeHandler: exec},
		Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: exec.Exec}}}
	debug := corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon(container)}
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: "web-0", Namespace: "shop", UID: "u"},
		Spec: corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{container, {}},
			InitContainers: []corev1.Container{container}, EphemeralContainers: []corev1.EphemeralContainer{debug}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning,
			ContainerStatuses: []corev1.ContainerStatus{{Name: "app", Ready: true, RestartCount: 2}}},
	}
}

// decodedEvent returns an event of a watch after client-go has decoded the event.
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

func TestPruneKeepsEveryFieldRead(t *testing.T) {
	sources := reflect.TypeFor[corev1.VolumeSource]()
	for seed := range int64(20) {
		for kind := range sources.NumField() { // a volume has exactly one source
			pod := filledPod(t, seed, [...]string{"text", "Always"}[seed%2])
			pod.Spec.Volumes = pod.Spec.Volumes[:1]
			source := reflect.ValueOf(&pod.Spec.Volumes[0].VolumeSource).Elem()
			for other := range sources.NumField() {
				if other != kind {
					source.Field(other).SetZero()
				}
			}
			event := kubeclienttest.Frame(t, watch.Modified, pod)[frameSize:]
			whole := decodedEvent(t, event).(*corev1.Pod)
			pruned := decodedEvent(t, prunePod(bytes.Clone(event))).(*corev1.Pod)
			if got, want := convertPod(pruned), convertPod(whole); !reflect.DeepEqual(got, want) {
				t.Fatalf("with a volume of %s: got %+v\nwant %+v", sources.Field(kind).Name, got, want)
			}
			if !reflect.DeepEqual(pruned.ObjectMeta, whole.ObjectMeta) ||
				!reflect.DeepEqual(pruned.Status, whole.Status) {
				t.Fatal("more than the spec was pruned")
			}
		}
	}
	for name, object := range map[string]k8sruntime.Object{
		"a node": &corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
			Spec: corev1.NodeSpec{ProviderID: "x", Unschedulable: true}},
		"an error": &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
			Status: metav1.StatusFailure, Code: 410,
			Message: "too old resource version"},
	} {
		event := kubeclienttest.Frame(t, watch.Error, object)[frameSize:]
		if got := prunePod(bytes.Clone(event)); !bytes.Equal(got, event) {
			t.Errorf("%s was changed", name)
		}
	}
}

func TestPruneKeepsPodLimitsAndRestartRules(t *testing.T) {
	pod := largePod("x")
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	pod.Spec.Resources = &corev1.ResourceRequirements{
		Limits: corev1.ResourceList{corev1.ResourceMemory: apiresource.MustParse("1Gi")}}
	pod.Spec.Containers = []corev1.Container{{Name: "never", Image: "shop"}, {Name: "rules", Image: "shop",
		RestartPolicyRules: []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestart}}}}
	event := kubeclienttest.Frame(t, watch.Modified, pod)[frameSize:]
	for _, c := range convertPod(decodedEvent(t, prunePod(event)).(*corev1.Pod)).Containers {
		if !c.MemoryLimited {
			t.Errorf("%s: the memory limit of the pod is lost", c.Name)
		}
		if c.Kind == timeline.KindMain && c.RestartsNever != (c.Name == "never") {
			t.Errorf("%s: never restarts: %t", c.Name, c.RestartsNever)
		}
	}
}

// TestLargePodsCostLittleToWatch watches a pod of 1.4 MB that changes repeatedly.
func TestLargePodsCostLittleToWatch(t *testing.T) {
	const events, most = 20, 200 << 10
	large := largePod(strings.Repeat("x", 80<<10))
	frame := kubeclienttest.Frame(t, watch.Modified, large)
	server := kubeclienttest.Stream(t, func(w io.Writer) {
		for range events {
			_, _ = w.Write(frame)
		}
	})
	config := &rest.Config{Host: server.URL}
	client, err := NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	w, err := kubeclient.Resource{Client: client, Name: "pods"}.Watch(t.Context(), metav1.ListOptions{})
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
	next() // the first event grows the buffers
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range events - 1 {
		next()
	}
	runtime.ReadMemStats(&after)
	each := (after.TotalAlloc - before.TotalAlloc) / (events - 1)
	t.Logf("%d bytes for each event of %d", each, len(frame))
	if each > most {
		t.Errorf("allocated %d bytes for each event, want at most %d", each, most)
	}
}

// TestManySmallPartsCostLittle creates pods with tens of thousands of small volumes, labels and gates.
func TestManySmallPartsCostLittle(t *testing.T) {
	pod := largePod("")
	pod.Labels = map[string]string{}
	for i := range 90_000 {
		name := fmt.Sprint(i)
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name,
			VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
		pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: "a"})
		pod.Labels[name] = ""
	}
	pruned := prunePod(kubeclienttest.Frame(t, watch.Modified, pod)[frameSize:])
	if len(pruned) > 32<<10 {
		t.Errorf("%d bytes are left", len(pruned))
	}
	got := decodedEvent(t, pruned).(*corev1.Pod)
	if len(got.Spec.Volumes) != maxElements || len(got.Labels) != maxElements || convertPod(got).Name != "web-0" {
		t.Errorf("%d volumes, %d labels", len(got.Spec.Volumes), len(got.Labels))
	}
}

func FuzzPrunePod(f *testing.F) {
	f.Add(kubeclienttest.Frame(f, watch.Modified, filledPod(f, 1, "text"))[frameSize:])
	f.Add([]byte{})
	f.Add([]byte("\x12\x06\x0a\x04k8s\x00"))
	f.Fuzz(func(t *testing.T, event []byte) {
		pruned := bytes.Clone(prunePod(bytes.Clone(event)))
		if again := prunePod(bytes.Clone(pruned)); !bytes.Equal(again, pruned) {
			t.Errorf("pruned again %q becomes %q", pruned, again)
		}
	})
}
