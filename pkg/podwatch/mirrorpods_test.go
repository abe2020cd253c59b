package podwatch

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/internal/untrusted"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// mirrorOf returns a pod with the annotation of the mirror of a static pod.
func mirrorOf(name, uid, static string) *corev1.Pod {
	p := pod(name, uid)
	p.Annotations = map[string]string{mirrorAnnotation: static, readAnnotation: "2026-08-17T12:00:01Z"}
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: nodeName, Controller: to(true)}}
	return p
}

// TestMirrorBelongsToNode removes parts of the owner reference that the kubelet sets in Kubernetes 1.17 and later.
// Anyone can set the annotation on a pod.
func TestMirrorBelongsToNode(t *testing.T) {
	if got := convertPod(mirrorOf("web", "1", "static")); got.RuntimeUID != "static" || got.ReadAt.IsZero() {
		t.Errorf("kubelet's own: %+v", got)
	}
	for name, forge := range map[string]func(*corev1.Pod){
		"without an owner":           func(p *corev1.Pod) { p.OwnerReferences = nil },
		"owned by another node":      func(p *corev1.Pod) { p.OwnerReferences[0].Name = "node-b" },
		"owned by another kind":      func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "ReplicaSet" },
		"owned by another API group": func(p *corev1.Pod) { p.OwnerReferences[0].APIVersion = "example.com/v1" },
		"without a controller":       func(p *corev1.Pod) { p.OwnerReferences[0].Controller = nil },
		"with too long a UID": func(p *corev1.Pod) {
			p.Annotations[mirrorAnnotation] = string(make([]byte, untrusted.MaxUID+1))
		},
	} {
		p := mirrorOf("web", "1", "static")
		forge(p)
		if got := convertPod(p); got.RuntimeUID != "1" || !got.ReadAt.IsZero() {
			t.Errorf("%s: runtime UID %s, read at %s", name, got.RuntimeUID, got.ReadAt)
		}
	}
}

// TestForgedMirrorCannotGetUID creates a forged mirror that contains the UID of another pod. The mirror must not
// receive the other pod's evidence.
func TestForgedMirrorCannotGetUID(t *testing.T) {
	older := func(p *corev1.Pod, second int) *corev1.Pod {
		p.CreationTimestamp = stamp(second)
		return p
	}
	victim, thief := older(pod("web", "uid"), 5), older(mirrorOf("thief", "thief", "uid"), 6)
	static, copied := older(mirrorOf("static-node-a", "m1", "hash"), 5), older(mirrorOf("thief", "thief", "hash"), 6)
	again := older(mirrorOf("static-node-a", "m2", "hash"), 7)
	for _, test := range []struct {
		name string
		pods []*corev1.Pod
		list bool
		want map[string]string // runtime UID by UID
	}{
		{"after the pod", []*corev1.Pod{victim, thief}, false, map[string]string{"uid": "uid", "thief": "thief"}},
		{"before the pod", []*corev1.Pod{thief, victim}, false, map[string]string{"uid": "uid", "thief": "thief"}},
		{"before it in a list", []*corev1.Pod{thief, victim}, true, map[string]string{"uid": "uid", "thief": "thief"}},
		{"after the mirror", []*corev1.Pod{static, copied}, false, map[string]string{"m1": "hash", "thief": "thief"}},
		{"before the mirror", []*corev1.Pod{copied, static}, false, map[string]string{"m1": "hash", "thief": "thief"}},
		{"a mirror made again", []*corev1.Pod{static, again}, false, map[string]string{"m1": "hash", "m2": "hash"}},
		{"a mirror that changes", []*corev1.Pod{static, static}, false, map[string]string{"m1": "hash"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newHarness(t)
			pods := NewPods(Config{NodeName: nodeName, Observe: h.Observe, Report: h.Report, Now: h.Clock.Now})
			pods.store.ctx = t.Context()
			var all []any
			for _, p := range test.pods {
				all = append(all, p)
			}
			if test.list {
				if err := pods.store.Replace(all, "1"); err != nil {
					t.Fatal(err)
				}
			} else {
				for _, p := range all {
					if err := pods.store.Add(p); err != nil {
						t.Fatal(err)
					}
				}
			}
			got, observed := map[string]string{}, len(h.Seen)
			for range observed {
				seen := h.Next().(timeline.PodSeen).Pod
				if test.list && seen.RuntimeUID != test.want[seen.UID] {
					t.Errorf("a list reports %s as %s first", seen.UID, seen.RuntimeUID)
				}
				got[seen.UID] = seen.RuntimeUID
			}
			for uid, want := range test.want {
				if got[uid] != want {
					t.Errorf("%s has the runtime UID %s, want %s", uid, got[uid], want)
				}
			}
			for _, p := range all {
				_ = pods.store.Delete(p)
			}
			if len(pods.store.mirrorOf) > 0 {
				t.Errorf("UIDs of deleted pods remain: %v", pods.store.mirrorOf)
			}
		})
	}
}
