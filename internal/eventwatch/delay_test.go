package eventwatch

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/internal/kubeclient/kubeclienttest"
	"github.com/podlapse/podlapse/internal/podwatchtest"
)

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
	server.Put(named(kubeclienttest.Begun().Add(-time.Minute), nodeName)) // older than the watch
	delays := make(chan time.Duration, 16)
	events := New(Config{
		Client: clientFor(t, server.URL()), NodeName: nodeName, Registerer: prometheus.NewRegistry(),
		Observe: h.observe, Report: h.Report, Now: h.Clock.Now, Delay: func(late time.Duration) { delays <- late },
	})
	h.Run(events.Run)
	events.Watch(watchOf("1"))
	h.Next()
	h.Clock.Advance(10 * time.Second)
	first := named(kubeclienttest.Begun().Add(9700*time.Millisecond), nodeName)
	server.Put(first)
	h.Next()
	// An Event with the time of another node's clock does not count.
	server.Put(named(kubeclienttest.Begun().Add(9800*time.Millisecond), "another"))
	repeated := first.DeepCopy()
	repeated.Count = 2
	repeated.LastTimestamp = metav1.NewTime(kubeclienttest.Begun().Add(10 * time.Second).Truncate(time.Second))
	server.Put(repeated)
	h.Next()
	if late := <-delays; late != 300*time.Millisecond || len(delays) > 0 {
		t.Errorf("late by %s, and %d more", late, len(delays))
	}
}
