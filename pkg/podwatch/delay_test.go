package podwatch

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/internal/kubeclient/kubeclienttest"
	"github.com/podlapse/podlapse/pkg/podwatch/podwatchtest"
)

// What the watch brought is dated by what the object itself says of that change; nothing is said of what a list brings.
func TestDelays(t *testing.T) {
	h := newHarness(t)
	server := podwatchtest.Start(t)
	listed := pod("listed", "0")
	listed.CreationTimestamp = stamp(-100)
	server.Put(listed)
	told := make(chan string, 16) // more than this test makes
	pods := NewPods(Config{
		Client: clientFor(t, server.URL()), NodeName: nodeName, Observe: h.Observe, Report: h.Report, Now: h.Clock.Now,
		Delay: func(change Change, late time.Duration) { told <- fmt.Sprintf("%s %s", change, late) },
	})
	h.Run(pods.Run)
	h.Next()
	kubeclienttest.Eventually(t, "watching", func() bool { return server.Watches() == 1 })
	var got []string
	put := func(p *corev1.Pod) {
		t.Helper()
		server.Put(p)
		h.Next()
	}
	condition := func(kind corev1.PodConditionType, status corev1.ConditionStatus, second int) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: stamp(second)}
	}

	h.Clock.Advance(10 * time.Second) // 12:00:10.25
	made := pod("a", "1")
	made.CreationTimestamp = stamp(1)
	made.Status.Conditions = []corev1.PodCondition{condition(corev1.PodScheduled, corev1.ConditionTrue, 9)}
	put(made)
	static := pod("static", "2") // created bound: nothing but its creation tells when
	static.CreationTimestamp = stamp(8)
	put(static)

	h.Clock.Advance(10 * time.Second) // 12:00:20.25
	made.Status.Conditions = append(made.Status.Conditions, condition(corev1.PodInitialized, corev1.ConditionTrue, 15),
		condition(corev1.PodReady, corev1.ConditionFalse, 18), condition("example.com/gate", corev1.ConditionTrue, 19))
	put(made)
	made.Status.Phase = corev1.PodRunning // no condition changes: nobody says when
	put(made)
	made.Status.Conditions[2] = condition(corev1.PodReady, corev1.ConditionTrue, 30) // by a clock that is ahead
	put(made)

	h.Clock.Advance(20 * time.Second) // 12:00:40.25
	made.DeletionTimestamp, made.DeletionGracePeriodSeconds = to(stamp(68)), to(int64(30))
	put(made)
	static.DeletionTimestamp, static.DeletionGracePeriodSeconds = to(stamp(70)), to(int64(30))
	put(static)
	server.Delete(static) // with a grace period: nobody says when it went
	h.Next()
	made.DeletionTimestamp, made.DeletionGracePeriodSeconds = to(stamp(39)), to(int64(0))
	server.Put(made)
	server.Delete(made)
	h.Next()
	for len(told) > 0 {
		got = append(got, <-told)
	}
	want := []string{
		"bound 1.25s", "bound 2.25s", "modified 2.25s", "modified 0s", "deleting 2.25s", "deleting 250ms",
		"deleted 1.25s",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
