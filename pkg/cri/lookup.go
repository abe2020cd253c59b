package cri

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/lru"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// lookUp answers questions about pods with one connection. lookUp is safe for concurrent use.
type lookUp struct {
	client   *client
	stores   *storeSet
	stamps   *lru.Cache // sandboxStamps of ready sandboxes, by sandbox ID
	statuses *lru.Cache // *runtimeapi.ContainerStatus of running and exited containers, by container ID
	catalog  catalog

	sandboxImage sandboxImage

	now func() time.Time
}

// answer runs all queries of one question. If a query fails, the whole question fails. A partial answer would look as
// if the pod had lost a sandbox or container.
func (l *lookUp) answer(ctx context.Context, question timeline.LookUp) (timeline.RuntimeSeen, error) {
	seen := timeline.RuntimeSeen{UID: question.UID, AskedAt: l.now()}
	sandboxes, err := l.client.listSandboxes(ctx, question.RuntimeUID)
	if err != nil {
		return timeline.RuntimeSeen{}, err
	}
	var containers []*runtimeapi.Container
	if len(sandboxes) > 0 { // the kubelet removes containers before their sandbox (kuberuntime_gc.go)
		if containers, err = l.client.listContainers(ctx, question.RuntimeUID); err != nil {
			return timeline.RuntimeSeen{}, err
		}
	}
	for _, listed := range sandboxes {
		sandbox := convertSandbox(listed)
		createdAt, firstContainerAt := fromNanos(listed.GetCreatedAt()), earliestCreated(containers, sandbox.ID)
		if err := l.stampSandbox(ctx, &sandbox, createdAt, firstContainerAt); err != nil {
			return timeline.RuntimeSeen{}, err
		}
		seen.Sandboxes = append(seen.Sandboxes, sandbox)
	}
	for _, listed := range containers {
		state, err := l.containerStatus(ctx, listed)
		if err != nil {
			return timeline.RuntimeSeen{}, err
		}
		seen.Containers = append(seen.Containers, convertContainer(listed, state))
	}
	for _, ref := range question.Images {
		image, known, err := l.image(ctx, ref)
		if err != nil {
			return timeline.RuntimeSeen{}, err
		}
		if known {
			seen.Images = append(seen.Images, image)
		}
	}
	if err := l.layers(ctx, question.Layers, seen.Images); err != nil {
		return timeline.RuntimeSeen{}, err
	}
	if question.Network {
		ready, known, err := l.client.networkReady(ctx)
		if ifBroken(err) != nil {
			return timeline.RuntimeSeen{}, err
		}
		seen.NetworkUp, seen.NetworkDown = known && ready, known && !ready
	}
	seen.ArrivedAt = l.now()
	sortAnswer(&seen)
	return seen, nil
}

// containerStatus returns the status of a container, or nil if the container was removed after it was listed.
// The start of a running container and the exit of an exited container never change. So containerStatus queries
// them once. The list shows the current state.
func (l *lookUp) containerStatus(
	ctx context.Context, listed *runtimeapi.Container,
) (*runtimeapi.ContainerStatus, error) {
	cached, _ := l.statuses.Get(listed.GetId())
	known, ok := cached.(*runtimeapi.ContainerStatus)
	if ok && (known.GetState() == runtimeapi.ContainerState_CONTAINER_EXITED ||
		listed.GetState() == runtimeapi.ContainerState_CONTAINER_RUNNING) {
		return known, nil
	}
	state, err := l.client.containerStatus(ctx, listed.GetId())
	if status.Code(err) == codes.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	switch state.GetState() {
	case runtimeapi.ContainerState_CONTAINER_RUNNING, runtimeapi.ContainerState_CONTAINER_EXITED:
		l.statuses.Add(listed.GetId(), &runtimeapi.ContainerStatus{ // the other fields are large
			State: state.GetState(), StartedAt: state.GetStartedAt(), FinishedAt: state.GetFinishedAt(),
			ExitCode: state.GetExitCode(),
		})
	}
	return state, nil
}

// ifBroken returns err if the runtime did not respond. If the runtime responded with an internal error, ifBroken
// returns nil. The answer then omits optional parts, and there is no retry.
func ifBroken(err error) error {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return err
	}
	return nil
}

// image returns known = false if the runtime rejects the reference.
func (l *lookUp) image(ctx context.Context, ref string) (image timeline.Image, known bool, err error) {
	answer, err := l.client.imageStatus(ctx, ref)
	switch status.Code(err) {
	case codes.OK:
	case codes.NotFound: // some runtimes deviate from CRI and return this code
		answer = nil
	default:
		return timeline.Image{}, false, ifBroken(err)
	}
	image = convertImage(ref, answer)
	if err := l.stampImage(ctx, &image); err != nil {
		return timeline.Image{}, false, err
	}
	return image, true, nil
}
