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

// answerer answers requests about pods over one connection to the runtime. answerer is safe for concurrent use.
type answerer struct {
	client   *client
	stores   *storeSet
	stamps   *lru.Cache // sandboxStamps of ready sandboxes, by sandbox ID
	statuses *lru.Cache // *runtimeapi.ContainerStatus of running and exited containers, by container ID
	catalog  catalog

	sandboxImage sandboxImage

	now func() time.Time
}

// The method "answer" runs all queries of one request. If a query fails, the whole request fails. A partial answer
// would look as if the pod had lost a sandbox or container.
func (a *answerer) answer(ctx context.Context, request timeline.RuntimeRequest) (timeline.RuntimeSeen, error) {
	seen := timeline.RuntimeSeen{UID: request.UID, AskedAt: a.now()}
	sandboxes, err := a.client.listSandboxes(ctx, request.RuntimeUID)
	if err != nil {
		return timeline.RuntimeSeen{}, err
	}
	var containers []*runtimeapi.Container
	if len(sandboxes) > 0 { // the kubelet removes containers before their sandbox (kuberuntime_gc.go)
		if containers, err = a.client.listContainers(ctx, request.RuntimeUID); err != nil {
			return timeline.RuntimeSeen{}, err
		}
	}
	for _, listed := range sandboxes {
		sandbox := convertSandbox(listed)
		createdAt, firstContainerAt := fromNanos(listed.GetCreatedAt()), earliestCreated(containers, sandbox.ID)
		if err := a.stampSandbox(ctx, &sandbox, createdAt, firstContainerAt); err != nil {
			return timeline.RuntimeSeen{}, err
		}
		seen.Sandboxes = append(seen.Sandboxes, sandbox)
	}
	for _, listed := range containers {
		state, err := a.containerStatus(ctx, listed)
		if err != nil {
			return timeline.RuntimeSeen{}, err
		}
		seen.Containers = append(seen.Containers, convertContainer(listed, state))
	}
	for _, ref := range request.Images {
		image, known, err := a.image(ctx, ref)
		if err != nil {
			return timeline.RuntimeSeen{}, err
		}
		if known {
			seen.Images = append(seen.Images, image)
		}
	}
	if err := a.layers(ctx, request.Layers, seen.Images); err != nil {
		return timeline.RuntimeSeen{}, err
	}
	if request.Network {
		ready, known, err := a.client.networkReady(ctx)
		if ifBroken(err) != nil {
			return timeline.RuntimeSeen{}, err
		}
		seen.NetworkUp, seen.NetworkDown = known && ready, known && !ready
	}
	seen.ArrivedAt = a.now()
	sortAnswer(&seen)
	return seen, nil
}

// containerStatus returns the status of a container, or nil if the runtime has removed the container. The start of a
// running container and the exit of an exited container never change, so containerStatus queries each of them only
// once. The argument "listed" contains the current state of the container.
func (a *answerer) containerStatus(
	ctx context.Context, listed *runtimeapi.Container,
) (*runtimeapi.ContainerStatus, error) {
	cached, _ := a.statuses.Get(listed.GetId())
	known, ok := cached.(*runtimeapi.ContainerStatus)
	if ok && (known.GetState() == runtimeapi.ContainerState_CONTAINER_EXITED ||
		listed.GetState() == runtimeapi.ContainerState_CONTAINER_RUNNING) {
		return known, nil
	}
	state, err := a.client.containerStatus(ctx, listed.GetId())
	if status.Code(err) == codes.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	switch state.GetState() {
	case runtimeapi.ContainerState_CONTAINER_RUNNING, runtimeapi.ContainerState_CONTAINER_EXITED:
		a.statuses.Add(listed.GetId(), &runtimeapi.ContainerStatus{ // the other fields are large
			State: state.GetState(), StartedAt: state.GetStartedAt(), FinishedAt: state.GetFinishedAt(),
			ExitCode: state.GetExitCode(),
		})
	}
	return state, nil
}

// ifBroken returns err if the runtime did not respond. For every other error, ifBroken returns nil. Then the answer
// omits an optional part, and the agent does not retry the request.
func ifBroken(err error) error {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return err
	}
	return nil
}

// The method "image" queries the status of an image. The result "known" is false if the runtime responds with an error
// other than NotFound, for example because the reference is invalid.
func (a *answerer) image(ctx context.Context, ref string) (image timeline.Image, known bool, err error) {
	answer, err := a.client.imageStatus(ctx, ref)
	switch status.Code(err) {
	case codes.OK:
	case codes.NotFound: // some runtimes deviate from CRI and return this code
		answer = nil
	default:
		return timeline.Image{}, false, ifBroken(err)
	}
	image = convertImage(ref, answer)
	if err := a.stampImage(ctx, &image); err != nil {
		return timeline.Image{}, false, err
	}
	return image, true, nil
}
