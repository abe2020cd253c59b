package podwatch

import (
	"context"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/internal/kubeclient/kubeclienttest"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// storeWith returns a store into which a test puts objects.
func storeWith(t *testing.T, list ...any) (*podStore, *Pods) {
	t.Helper()
	pods := NewPods(Config{
		NodeName: nodeName, Observe: func(context.Context, timeline.Observation) {}, Report: func(bool, string) {},
		Now: kubeclienttest.Begun,
	})
	s := pods.store
	if err := s.Replace(list, ""); err != nil {
		t.Fatal(err)
	}
	return s, pods
}

// crashedPod returns a pod whose containers were restarted several times. The reason and the code describe the previous
// run.
func crashedPod(uid string, times int32, reason string, code int32) *corev1.Pod {
	p := pod("a", uid)
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "app", RestartCount: times,
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: reason,
			ExitCode: code}},
	}}
	return p
}

func mustCount(t *testing.T, pods *Pods, want map[RestartKey]uint64) {
	t.Helper()
	if got := pods.Restarts(); !maps.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
}

func TestRestartReasons(t *testing.T) {
	for _, test := range []struct {
		reason string
		code   int32
		want   RestartReason
	}{
		{"Completed", 0, RestartCompleted},
		{"Error", 1, RestartError},
		{"Error", 128, RestartError},
		{"Error", 129, RestartSignal}, // SIGHUP, the first signal
		{"Error", 137, RestartSignal}, // SIGKILL
		{"Error", 192, RestartSignal}, // the last real-time signal
		{"Error", 193, RestartError},
		{"Error", 255, RestartError},
		{"OOMKilled", 137, RestartOOMKilled},
		{"StartError", 128, RestartStartError},
		{"ContainerCannotRun", 127, RestartStartError},
		{"RestartingAllContainers", 137, RestartAll},
		{"ContainerStatusUnknown", 137, RestartUnknown},
		{"", 0, RestartUnknown},
		{"seccomp killed", 159, RestartOther},
	} {
		s, pods := storeWith(t)
		if err := s.Update(crashedPod("1", 1, test.reason, test.code)); err != nil {
			t.Fatal(err)
		}
		mustCount(t, pods, map[RestartKey]uint64{{timeline.KindMain, test.want}: 1})
	}
	if got := restartReason(nil); got != RestartUnknown {
		t.Errorf("an unknown end: %s", got)
	}
}

// TestRestartsCountOnce checks that each restart counts once, for any number of observations of the pod.
func TestRestartsCountOnce(t *testing.T) {
	s, pods := storeWith(t, crashedPod("old", 3, "Error", 1))
	take := func(p *corev1.Pod) {
		t.Helper()
		if err := s.Update(p); err != nil {
			t.Fatal(err)
		}
	}
	mustCount(t, pods, map[RestartKey]uint64{}) // a previous agent has counted these restarts
	take(crashedPod("old", 3, "Error", 1))
	mustCount(t, pods, map[RestartKey]uint64{})
	take(crashedPod("old", 4, "OOMKilled", 137))
	take(crashedPod("old", 4, "OOMKilled", 137))
	want := map[RestartKey]uint64{{timeline.KindMain, RestartOOMKilled}: 1}
	mustCount(t, pods, want)
	take(crashedPod("old", 0, "", 0)) // the kubelet reported no restarts for a moment
	take(crashedPod("old", 4, "OOMKilled", 137))
	mustCount(t, pods, want)
	take(crashedPod("old", 7, "Completed", 0)) // two restarts whose runs the agent did not observe
	want[RestartKey{timeline.KindMain, RestartCompleted}] = 1
	want[RestartKey{timeline.KindMain, RestartUnknown}] = 2
	mustCount(t, pods, want)

	// The pod "new" was created and crashed while no watch was open. The next list contains this pod.
	if err := s.Replace([]any{crashedPod("old", 7, "Completed", 0), crashedPod("new", 1, "Error", 2)}, ""); err != nil {
		t.Fatal(err)
	}
	want[RestartKey{timeline.KindMain, RestartError}] = 1
	mustCount(t, pods, want)

	// the kubelet recreated the mirror with the old counts of its containers
	mirror := crashedPod("mirror", 5, "Error", 1)
	mirror.Annotations = map[string]string{mirrorAnnotation: "static"}
	mirror.OwnerReferences = mirrorOf("", "", "").OwnerReferences
	take(mirror)
	mustCount(t, pods, want)

	for _, p := range []*corev1.Pod{crashedPod("old", 7, "Completed", 0), crashedPod("new", 1, "Error", 2), mirror} {
		if err := s.Delete(p); err != nil {
			t.Fatal(err)
		}
	}
	mustCount(t, pods, want)
	if len(pods.restarts.highest) > 0 {
		t.Errorf("deleted pods are still stored: %v", pods.restarts.highest)
	}
}

func TestRestartsByKind(t *testing.T) {
	s, pods := storeWith(t)
	p := crashedPod("1", 1, "Error", 1)
	p.Spec.InitContainers = []corev1.Container{{Name: "setup"},
		{Name: "proxy", RestartPolicy: to(corev1.ContainerRestartPolicyAlways)}}
	for name, times := range map[string]int32{"setup": 1, "proxy": 1} {
		status := p.Status.ContainerStatuses[0]
		status.Name, status.RestartCount = name, times
		p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, status)
	}
	if err := s.Update(p); err != nil {
		t.Fatal(err)
	}
	want := map[RestartKey]uint64{}
	for _, kind := range RestartedKinds() {
		want[RestartKey{kind, RestartError}] = 1
	}
	mustCount(t, pods, want)
}
