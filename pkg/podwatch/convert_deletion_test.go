package podwatch

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/internal/podwatchtest"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestConvertDeletion checks that the kubelet's report of a deletion counts only if the object has a deletion
// timestamp.
func TestConvertDeletion(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Generation: 3, Finalizers: []string{"a/b"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "app", Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{}}},
			{Name: "other", Lifecycle: &corev1.Lifecycle{}},
		}},
		Status: corev1.PodStatus{ObservedGeneration: 3, Conditions: []corev1.PodCondition{
			{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI"},
		}},
	}
	convert := func() timeline.Pod {
		converted := convertPod(pod)
		addDeletion(&converted, pod)
		return converted
	}
	if got := convert(); got.DeletionObserved || got.DeletionGrace != 0 || got.Disruption != "" || got.Finalizers {
		t.Errorf("a pod that was not deleted: %+v", got)
	}
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = to(stamp(50)), to(int64(30))
	got := convert()
	if !got.DeletionObserved || got.DeletionGrace != 30*time.Second || got.Disruption != "EvictionByEvictionAPI" ||
		!got.Finalizers {
		t.Errorf("%+v", got)
	}
	if c := got.Containers; !c[0].PreStopHook || c[1].PreStopHook {
		t.Errorf("hooks %+v", c)
	}
	pod.Generation = 4
	if convert().DeletionObserved {
		t.Error("a deletion newer than the observed generation counts as observed")
	}
	pod.Generation, pod.Status.ObservedGeneration = 0, 0
	if convert().DeletionObserved {
		t.Error("without observedGeneration a deletion counts as observed")
	}
	for seconds, want := range map[int64]time.Duration{-1: 0, 1 << 62: maxGrace * time.Second} {
		pod.DeletionGracePeriodSeconds = to(seconds)
		if got := convert().DeletionGrace; got != want {
			t.Errorf("grace of %d s is %s", seconds, got)
		}
	}
}

// TestTerminationChangesReachFollowers checks that followers of terminations receive the kubelet's changes to
// the object of a terminating pod.
func TestTerminationChangesReachFollowers(t *testing.T) {
	t.Parallel()
	server := podwatchtest.Start(t)
	h := newHarness(t)
	h.Run(NewPods(Config{
		Client: clientFor(t, server.URL()), NodeName: nodeName, Observe: h.Observe, Report: h.Report, Now: h.Clock.Now,
		Terminations: true,
	}).Run)
	ends := pod("a", "1")
	ends.Generation = 2
	ends.DeletionTimestamp, ends.DeletionGracePeriodSeconds = to(stamp(40)), to(int64(30))
	server.Put(ends)
	if got := h.nextPod("a", false); got.DeletionGrace != 30*time.Second || got.DeletionObserved {
		t.Errorf("got %+v", got)
	}
	ends = ends.DeepCopy()
	ends.Status.ObservedGeneration = 2
	server.Put(ends)
	if got := h.nextPod("a", false); !got.DeletionObserved {
		t.Errorf("observed: %+v", got)
	}
	ends = ends.DeepCopy()
	ends.DeletionTimestamp, ends.DeletionGracePeriodSeconds = to(stamp(15)), to(int64(0))
	server.Put(ends)
	if got := h.nextPod("a", false); got.DeletionGrace != 0 || got.DeletedAt != at(10) {
		t.Errorf("let go: %+v", got)
	}
}
