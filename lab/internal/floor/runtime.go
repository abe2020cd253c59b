package floor

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/podlapse/podlapse/lab/internal/cri"
)

// heartbeat is the interval at which the program requests the runtime's version while pods start. The agent requests
// the version at the same interval.
const heartbeat = time.Second

// maxChanges is the maximum length of the queue of changed pods. If the runtime responds slowly, the queue can become
// full. The reflector then waits.
const maxChanges = 1000

// runtimePoller is a store that also queries the container runtime about each pod: once when the pod arrives, and once
// when the pod is ready. If the images of a pod are already on the node, an agent needs at least these queries.
type runtimePoller struct {
	cache.Store
	runtime *cri.Client
	changes chan *corev1.Pod
}

// Add implements cache.Store.
func (a *runtimePoller) Add(object any) error {
	a.pass(object)
	return a.Store.Add(object)
}

// Update implements cache.Store.
func (a *runtimePoller) Update(object any) error {
	a.pass(object)
	return a.Store.Update(object)
}

func (a *runtimePoller) pass(object any) {
	if pod, ok := object.(*corev1.Pod); ok {
		a.changes <- pod
	}
}

// poll queries the runtime until ctx ends. poll ignores failed queries, because the lab measures only the cost of the
// queries.
func (a *runtimePoller) poll(ctx context.Context) {
	starting := map[types.UID]bool{} // the value is true until the pod is ready, and then false
	open := 0
	beats := time.NewTicker(heartbeat)
	beats.Stop()
	for {
		select {
		case pod := <-a.changes:
			waits, known := starting[pod.UID]
			switch {
			case !known:
				starting[pod.UID] = true
				open++
				if open == 1 {
					beats.Reset(heartbeat)
				}
				_ = a.runtime.QueryArrived(ctx, string(pod.UID), pod.Spec.Containers[0].Image)
			case waits && isReady(pod):
				starting[pod.UID] = false
				open--
				if open == 0 {
					beats.Stop()
				}
				_ = a.runtime.QueryReady(ctx, string(pod.UID))
			}
		case <-beats.C:
			_ = a.runtime.Version(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func isReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
