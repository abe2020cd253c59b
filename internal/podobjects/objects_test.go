package podobjects

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const hidden = "hunter2"

// podWithSecrets returns a pod with a secret in every field that could contain a secret, and with other values
// in the other fields.
func podWithSecrets(n int) *corev1.Pod {
	handler := func() *corev1.LifecycleHandler {
		return &corev1.LifecycleHandler{
			Exec: &corev1.ExecAction{Command: []string{"curl", hidden}},
			HTTPGet: &corev1.HTTPGetAction{
				Path: "/live?token=" + hidden, Port: intstr.FromInt32(80),
				HTTPHeaders: []corev1.HTTPHeader{{Name: "Authorization", Value: hidden}},
			},
		}
	}
	probe := func() *corev1.Probe {
		return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: handler().Exec, HTTPGet: handler().HTTPGet}}
	}
	container := func(name string) corev1.Container {
		return corev1.Container{
			Name: name, Image: "registry.example/app:1", Command: []string{"sh", "-c", hidden},
			Args: []string{"--password=" + hidden},
			Env: []corev1.EnvVar{
				{Name: "PASSWORD", Value: hidden}, {Name: "EMPTY"},
				{Name: "REF", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
					LocalObjectReference: corev1.LocalObjectReference{Name: "credentials"}, Key: "password",
				}}},
			},
			LivenessProbe: probe(), ReadinessProbe: probe(), StartupProbe: probe(),
			Lifecycle: &corev1.Lifecycle{PostStart: handler(), PreStop: handler()},
		}
	}
	ended := func(name string) []corev1.ContainerStatus {
		terminated := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error",
			Message: hidden}}
		return []corev1.ContainerStatus{{Name: name, State: terminated, LastTerminationState: *terminated.DeepCopy()}}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: fmt.Sprintf("web-%d", n), UID: types.UID(fmt.Sprintf("uid-%d", n)),
			ResourceVersion: fmt.Sprint(100 + n), Labels: map[string]string{"app": "web", "n": fmt.Sprint(n % 2)},
			Annotations: map[string]string{
				lastApplied: `{"env":"` + hidden + `"}`, "vault.example/token": hidden, "plain": hidden,
				"kubernetes.io/config.source":              "api",
				"seccomp.security.alpha.kubernetes.io/pod": "runtime/default", "notkubernetes.io/x": hidden,
			},
			ManagedFields: []metav1.ManagedFieldsEntry{
				{Manager: "kubectl", FieldsV1: metav1.NewFieldsV1(`{"f:x":"` + hidden + `"}`)}},
		},
		Spec: corev1.PodSpec{
			NodeName: "node-1", InitContainers: []corev1.Container{container("init")},
			Containers: []corev1.Container{container("app")},
			EphemeralContainers: []corev1.EphemeralContainer{
				{EphemeralContainerCommon: corev1.EphemeralContainerCommon(container("debug"))}},
			Volumes: []corev1.Volume{
				{Name: "csi", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "d",
					VolumeAttributes: map[string]string{"key": hidden}}}},
				{Name: "flex", VolumeSource: corev1.VolumeSource{FlexVolume: &corev1.FlexVolumeSource{Driver: "d",
					Options: map[string]string{"key": hidden}}}},
				{Name: "git", VolumeSource: corev1.VolumeSource{
					GitRepo: &corev1.GitRepoVolumeSource{Repository: "https://user:" + hidden + "@git.example/r?" +
						hidden}}},
				{Name: "image", VolumeSource: corev1.VolumeSource{
					Image: &corev1.ImageVolumeSource{Reference: "https://user:" + hidden + "@registry.example/i"}}},
				{Name: "secret",
					VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "credentials"}}},
				{Name: "claim", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
					VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
						ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"a": hidden}}},
				}}},
			},
		},
		Status: corev1.PodStatus{
			Message: "evicted: token=" + hidden,
			Conditions: []corev1.PodCondition{
				{Type: "Ready", Message: "https://user:" + hidden + "@registry.example/v2/"}},
			Phase: corev1.PodRunning, InitContainerStatuses: ended("init"), ContainerStatuses: ended("app"),
			EphemeralContainerStatuses: ended("debug"),
		},
	}
}

func TestObjectsHoldNoSecrets(t *testing.T) {
	pod := podWithSecrets(1)
	before := pod.DeepCopy()
	text, err := json.Marshal(redactedCopy(pod))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(pod, before) {
		t.Error("the object of the watch was changed")
	}
	if strings.Contains(string(text), hidden) || strings.Contains(string(text), "managedFields") {
		t.Errorf("a secret in %s", text)
	}
	for _, stays := range []string{
		`"credentials"`, `"PASSWORD"`, `"EMPTY"}`, `"Authorization"`, `"kubernetes.io/config.source":"api"`,
		`"runtime/default"`, `"vault.example/token":"REDACTED"`,
		`"registry.example/app:1"`, `"/live?REDACTED"`, `"reason":"Error"`, `"n":"1"`,
		`"https://REDACTED@registry.example/v2/"`, `"https://REDACTED@registry.example/i"`,
	} {
		if !strings.Contains(string(text), stays) {
			t.Errorf("no %s in %s", stays, text)
		}
	}
}

// TestContainerFieldsAreKnown fails if a version of Kubernetes adds a field to containers, because the new field
// could contain secrets.
func TestContainerFieldsAreKnown(t *testing.T) {
	const known = "Name Image Command Args WorkingDir Ports EnvFrom Env Resources ResizePolicy RestartPolicy " +
		"RestartPolicyRules VolumeMounts " +
		"VolumeDevices LivenessProbe ReadinessProbe StartupProbe Lifecycle TerminationMessagePath " +
		"TerminationMessagePolicy ImagePullPolicy " +
		"SecurityContext Stdin StdinOnce TTY"
	var fields []string
	for f := range reflect.TypeFor[corev1.Container]().Fields() {
		fields = append(fields, f.Name)
	}
	if got := strings.Join(fields, " "); got != known {
		t.Errorf("decide about new fields: %s", got)
	}
}

type podList struct {
	Kind, APIVersion string
	Metadata         struct{ ResourceVersion string }
	Cache            map[string]any
	Items            []corev1.Pod
}

func list(t *testing.T, o *Objects, want func(namespace, name, labels string) bool) podList {
	t.Helper()
	var text bytes.Buffer
	if err := o.WriteList(&text, want); err != nil {
		t.Fatal(err)
	}
	var got podList
	if err := json.Unmarshal(text.Bytes(), &got); err != nil {
		t.Fatalf("%v in %s", err, text.Bytes())
	}
	return got
}

func all(_, _, _ string) bool { return true }

func TestObjectsAreThoseOfTheWatch(t *testing.T) {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	o := New(func() time.Time { return now })
	if got := list(t, o, all); len(got.Items) != 0 || got.Cache["connected"] != false ||
		got.Cache["age_seconds"] != nil || got.Kind != "PodList" || got.APIVersion != "v1" {
		t.Errorf("%+v", got)
	}
	o.Connected(true)
	for n := range 3 {
		if err := keep(o, podWithSecrets(n)); err != nil {
			t.Fatal(err)
		}
	}
	o.Forget("uid-1")
	now = now.Add(1500 * time.Millisecond)
	got := list(t, o, all)
	if got.Metadata.ResourceVersion != "102" || got.Cache["connected"] != true || got.Cache["age_seconds"] != 1.5 ||
		len(got.Items) != 2 {
		t.Errorf("%+v", got)
	}
	if verified, ok := got.Cache["verified_at"]; !ok || verified != nil {
		t.Errorf("verified at %v", verified)
	}
	want := redactedCopy(podWithSecrets(2))
	want.Kind, want.APIVersion = "Pod", "v1"
	gotText, _ := json.Marshal(got.Items[1])
	wantText, _ := json.Marshal(want)
	if string(gotText) != string(wantText) {
		t.Errorf("got\n%s\nwant\n%s", gotText, wantText)
	}
	o.Received("200") // a bookmark
	got = list(t, o, func(namespace, name, labels string) bool {
		return namespace == "shop" && name == "web-2" && labels == "app=web,n=0"
	})
	if got.Metadata.ResourceVersion != "200" || got.Cache["age_seconds"] != 0.0 || len(got.Items) != 1 {
		t.Errorf("%+v", got)
	}
}

// TestObjectsAreSmall keeps the pods of a full node. A pod with three containers and their statuses is larger
// than most pods.
func TestObjectsAreSmall(t *testing.T) {
	const pods = 500
	o := New(time.Now)
	_ = keep(o, podWithSecrets(pods)) // fills the pools of buffers
	heap := func() int {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := heap()
	for n := range pods {
		if err := keep(o, podWithSecrets(n)); err != nil {
			t.Fatal(err)
		}
	}
	each := (heap() - before) / pods
	t.Logf("%d bytes a pod", each)
	if each > 4<<10 {
		t.Errorf("%d bytes a pod", each)
	}
	runtime.KeepAlive(o)
}

func BenchmarkKeepObject(b *testing.B) {
	o := New(time.Now)
	pod := podWithSecrets(1)
	b.ReportAllocs()
	for b.Loop() {
		if err := keep(o, pod); err != nil {
			b.Fatal(err)
		}
	}
}

// keep passes a pod to the cache in the same way as the watch.
func keep(o *Objects, pod *corev1.Pod) error {
	labels := make([]string, 0, len(pod.Labels))
	for _, key := range slices.Sorted(maps.Keys(pod.Labels)) {
		labels = append(labels, key+"="+pod.Labels[key])
	}
	store, err := o.Pack(pod, strings.Join(labels, ","))
	if err == nil {
		store()
	}
	return err
}
