package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/podlapse/podlapse/internal/critest"
	"github.com/podlapse/podlapse/internal/kubeclient/kubeclienttest"
	"github.com/podlapse/podlapse/internal/podwatchtest"
)

// serveProtobuf returns the address of an API server that serves pods in protobuf, like a real API server. The fake of
// podwatchtest serves all other requests. Without "streams", the API server refuses streaming lists.
func serveProtobuf(b *testing.B, pods []*corev1.Pod, streams bool) string {
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1000"}}
	list.Kind, list.APIVersion = "PodList", "v1"
	initial := ""
	for _, pod := range pods {
		list.Items = append(list.Items, *pod)
		initial += string(kubeclienttest.Frame(b, watch.Added, pod))
	}
	bookmark := &corev1.Pod{TypeMeta: pods[0].TypeMeta}
	bookmark.ResourceVersion = list.ResourceVersion
	bookmark.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	initial += string(kubeclienttest.Frame(b, watch.Bookmark, bookmark))
	whole, err := runtime.Encode(protobuf.NewSerializer(nil, nil), list)
	if err != nil {
		b.Fatal(err)
	}
	others, err := url.Parse(podwatchtest.Start(b).URL())
	if err != nil {
		b.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(others)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		values := r.URL.Query()
		switch {
		case r.URL.Path != "/api/v1/pods":
			forward.ServeHTTP(w, r)
		case values.Get("watch") == "":
			w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
			_, _ = w.Write(whole)
		case values.Has("sendInitialEvents") && !streams:
			http.Error(w, "sendInitialEvents is forbidden", http.StatusUnprocessableEntity)
		default:
			w.Header().Set("Content-Type", runtime.ContentTypeProtobuf+";stream=watch")
			if values.Has("sendInitialEvents") {
				_, _ = w.Write([]byte(initial))
			}
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	}))
	b.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// longRunning returns a pod of 22 KiB whose four containers have been ready for hours.
func longRunning(i int) *corev1.Pod {
	createdAt := time.Now().Add(-time.Hour - time.Duration(i)*time.Second).Truncate(time.Second)
	after := func(seconds int) metav1.Time {
		return metav1.NewTime(createdAt.Add(time.Duration(seconds) * time.Second))
	}
	service, hash := fmt.Sprintf("service-%02d", i%20), fmt.Sprintf("7d4b9c6f%02d", i%20)
	condition := func(kind corev1.PodConditionType, seconds int) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: after(seconds)}
	}
	managed := func(manager string, size int) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate,
			FieldsV1: metav1.NewFieldsV1(`{"f:` + strings.Repeat("x", size) + `":{}}`)}
	}
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprint("team-", i%10), Name: fmt.Sprintf("%s-%s-x%04d", service, hash, i),
			UID: types.UID(fmt.Sprintf("0b1f6c4e-7a2d-4c55-9d3e-%012d", i)), CreationTimestamp: after(0),
			ResourceVersion: strconv.Itoa(100 + i), Generation: 1,
			Labels: map[string]string{
				"app.kubernetes.io/name": service, "app.kubernetes.io/instance": service + "-prod",
				"app.kubernetes.io/version": "1.24.3", "app.kubernetes.io/managed-by": "Helm",
				"app.kubernetes.io/part-of": "shop", "pod-template-hash": hash,
			},
			Annotations: map[string]string{"checksum/config": strings.Repeat("9f86d081", 80)},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet",
				Name: service + "-" + hash, UID: "uid-" + types.UID(hash), Controller: new(true)}},
			ManagedFields: []metav1.ManagedFieldsEntry{
				managed("kube-controller-manager", 4000), managed("kubelet", 3000),
			},
		},
		Spec: corev1.PodSpec{NodeName: "node-a"},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, ObservedGeneration: 1, StartTime: new(after(0)),
			Conditions: []corev1.PodCondition{condition(corev1.PodReadyToStartContainers, 2),
				condition(corev1.PodInitialized, 0), condition(corev1.PodReady, 9),
				condition(corev1.ContainersReady, 9), condition(corev1.PodScheduled, 0)}},
	}
	for k, name := range []string{"app", "proxy", "secrets", "logs"} {
		addRunning(pod, service, name, fmt.Sprintf("containerd://%064d", 4*i+k), after(3+k))
	}
	return pod
}

func addRunning(pod *corev1.Pod, service, name, id string, startedAt metav1.Time) {
	c := corev1.Container{
		Name: name, Image: fmt.Sprintf("registry.example.com:5000/%s/%s:1.24.3", service, name),
		ImagePullPolicy: corev1.PullIfNotPresent,
		ReadinessProbe:  &corev1.Probe{PeriodSeconds: 10, TimeoutSeconds: 1, SuccessThreshold: 1},
	}
	for n := range 30 {
		c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprint("SETTING_NUMBER_", n), Value: strings.Repeat("value", 16)})
	}
	pod.Spec.Containers = append(pod.Spec.Containers, c)
	pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
		Name: name, Ready: true, Started: new(true), Image: c.Image, ContainerID: id,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: startedAt}},
	})
}

// putRunning adds the sandbox, the containers and the images of a pod to the runtime.
func putRunning(r *critest.Runtime, pod *corev1.Pod, i int) {
	after := func(length time.Duration) time.Time { return pod.CreationTimestamp.Add(length) }
	uid, sandbox := string(pod.UID), fmt.Sprintf("%064d", 1_000_000+i)
	r.PutSandbox(critest.Sandbox{ID: sandbox, PodUID: uid, CreatedAt: after(1300 * time.Millisecond)})
	r.StoreSandbox(sandbox,
		critest.Stamps{CreatedAt: after(900 * time.Millisecond), UpdatedAt: after(1700 * time.Millisecond)})
	for k, c := range pod.Spec.Containers {
		createdAt := after(time.Duration(3+k)*time.Second + 200*time.Millisecond)
		r.PutContainer(critest.Container{ID: fmt.Sprintf("%064d", 4*i+k), SandboxID: sandbox, PodUID: uid, Name: c.Name,
			CreatedAt: createdAt, StartedAt: createdAt.Add(150 * time.Millisecond)})
		r.PutImage(c.Image, 60<<20)
	}
}
