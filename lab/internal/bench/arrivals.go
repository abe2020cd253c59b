package bench

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Arrival contains the times at which the bench's own watch delivered the changes of a pod. If the watch has not
// delivered a change, the time of the change is zero. The watch delivers a change after the API server has stored it,
// typically a few milliseconds later.
type Arrival struct {
	UID               string
	CreatedAt         time.Time // time of the first event; the watch must start before the pod is created
	AcknowledgedAt    time.Time // time of the first event with status.startTime, which the kubelet sets
	ContainersReadyAt time.Time
	ReadyAt           time.Time
	SucceededAt       time.Time
	GoneAt            time.Time
}

// Arrivals contains an Arrival for each pod of a bench. Arrivals is safe for concurrent use.
type Arrivals struct {
	mu   sync.Mutex
	pods map[string]Arrival
}

// Watch watches the bench's pods until the caller calls the function "stop". If the watch has failed, the function
// "stop" returns the error.
func (b *Bench) Watch(ctx context.Context) (arrivals *Arrivals, stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	arrivals = &Arrivals{pods: make(map[string]Arrival)}
	ended := make(chan error, 1)
	go func() { ended <- b.Kube.WatchPods(ctx, b.Namespace, func() {}, arrivals.add) }()
	return arrivals, func() error { cancel(); return <-ended }
}

// Of returns the Arrival of a pod, with the changes that the watch has delivered so far.
func (s *Arrivals) Of(pod string) Arrival {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pods[pod]
}

func (s *Arrivals) add(pod corev1.Pod, gone bool, arrivedAt time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.pods[pod.Name]
	seen.UID = string(pod.UID)
	first := func(at *time.Time, happened bool) {
		if happened && at.IsZero() {
			*at = arrivedAt
		}
	}
	first(&seen.CreatedAt, true)
	first(&seen.AcknowledgedAt, pod.Status.StartTime != nil)
	first(&seen.ContainersReadyAt, holds(pod, corev1.ContainersReady))
	first(&seen.ReadyAt, holds(pod, corev1.PodReady))
	first(&seen.SucceededAt, pod.Status.Phase == corev1.PodSucceeded)
	first(&seen.GoneAt, gone)
	s.pods[pod.Name] = seen
}

func holds(pod corev1.Pod, condition corev1.PodConditionType) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == condition {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
