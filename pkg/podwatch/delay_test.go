package podwatch

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/internal/podwatchtest"
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
		Client: clientFor(t, server.URL()), NodeName: nodeName, Observe: h.observe, Report: h.report, Now: h.clock.Now,
		Delay: func(change Change, late time.Duration) { told <- fmt.Sprintf("%s %s", change, late) },
	})
	h.run(pods.Run)
	h.next()
	eventually(t, "watching", func() bool { return server.Watches() == 1 })
	var got []string
	put := func(p *corev1.Pod) {
		t.Helper()
		server.Put(p)
		h.next()
	}
	condition := func(kind corev1.PodConditionType, status corev1.ConditionStatus, second int) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: stamp(second)}
	}

	h.clock.advance(10 * time.Second) // 12:00:10.25
	made := pod("a", "1")
	made.CreationTimestamp = stamp(1)
	made.Status.Conditions = []corev1.PodCondition{condition(corev1.PodScheduled, corev1.ConditionTrue, 9)}
	put(made)
	static := pod("static", "2") // created bound: nothing but its creation tells when
	static.CreationTimestamp = stamp(8)
	put(static)

	h.clock.advance(10 * time.Second) // 12:00:20.25
	made.Status.Conditions = append(made.Status.Conditions, condition(corev1.PodInitialized, corev1.ConditionTrue, 15),
		condition(corev1.PodReady, corev1.ConditionFalse, 18), condition("example.com/gate", corev1.ConditionTrue, 19))
	put(made)
	made.Status.Phase = corev1.PodRunning // no condition changes: nobody says when
	put(made)
	made.Status.Conditions[2] = condition(corev1.PodReady, corev1.ConditionTrue, 30) // by a clock that is ahead
	put(made)

	h.clock.advance(20 * time.Second) // 12:00:40.25
	made.DeletionTimestamp, made.DeletionGracePeriodSeconds = to(stamp(68)), to(int64(30))
	put(made)
	static.DeletionTimestamp, static.DeletionGracePeriodSeconds = to(stamp(70)), to(int64(30))
	put(static)
	server.Delete(static) // with a grace period: nobody says when it went
	h.next()
	made.DeletionTimestamp, made.DeletionGracePeriodSeconds = to(stamp(39)), to(int64(0))
	server.Put(made)
	server.Delete(made)
	h.next()
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

func TestEventDelays(t *testing.T) {
	h := newHarness(t)
	server := podwatchtest.Start(t)
	named := func(at time.Time, host string) *corev1.Event {
		return &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("web.%x", at.UnixNano())},
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "ns", Name: "pod", UID: "runtime-1"},
			Source:         corev1.EventSource{Component: "kubelet", Host: host},
			FirstTimestamp: metav1.NewTime(at.Truncate(time.Second)),
			LastTimestamp:  metav1.NewTime(at.Truncate(time.Second)), Count: 1,
		}
	}
	server.Put(named(begun().Add(-time.Minute), nodeName)) // from before
	told := make(chan time.Duration, 16)
	events := NewEvents(EventsConfig{
		Client: clientFor(t, server.URL()), NodeName: nodeName, Observe: h.observe, Report: h.report, Now: h.clock.Now,
		Delay: func(late time.Duration) { told <- late },
	})
	h.run(events.Run)
	events.Watch(watchOf("1"))
	h.next()
	h.clock.advance(10 * time.Second)
	first := named(begun().Add(9700*time.Millisecond), nodeName)
	server.Put(first)
	h.next()
	server.Put(named(begun().Add(9800*time.Millisecond), "another")) // by another node's clock: it counts for nothing
	repeated := first.DeepCopy()
	repeated.Count, repeated.LastTimestamp = 2, metav1.NewTime(begun().Add(10*time.Second).Truncate(time.Second))
	server.Put(repeated)
	h.next()
	if late := <-told; late != 300*time.Millisecond || len(told) > 0 {
		t.Errorf("late by %s, and %d more", late, len(told))
	}
}
