package cri

import (
	"context"
	"slices"
	"time"

	imagesapi "github.com/containerd/containerd/api/services/images/v1"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/lru"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// responder responds to requests about pods over one connection to the runtime. responder is safe for concurrent use.
type responder struct {
	client   *client
	stores   *storeSet
	stamps   *lru.Cache // timestamps of ready sandboxes by sandbox ID; the values are sandboxStamps or timeline.Sandbox
	statuses *lru.Cache // status of running and exited containers by container ID; the values are *runStatus
	catalog  catalog

	sandboxImage sandboxImage

	now func() time.Time
}

// maxParallel is the maximum number of queries of one request that run at the same time. Queries in parallel cost less
// CPU time than queries in sequence, because the agent sleeps and wakes up less often.
const maxParallel = 4

// runInParallel runs queries in parallel. If a query fails, runInParallel cancels the other queries and returns the
// first error.
func runInParallel(ctx context.Context, queries ...func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxParallel)
	for _, query := range queries {
		group.Go(func() error { return query(ctx) })
	}
	return group.Wait()
}

// respond runs all queries of one request. If a query fails, the whole request fails, because a partial response would
// look as if the pod had lost a sandbox or container. But if the runtime responds with an error to the query for an
// optional part, the request succeeds without this part (see onlyIfBroken).
func (a *responder) respond(ctx context.Context, request timeline.RuntimeRequest) (timeline.RuntimeSeen, error) {
	seen := timeline.RuntimeSeen{UID: request.UID, QueriedAt: a.now(), NetworkFirst: a.stores.networkFirst}
	var listed listing
	images := make([]*timeline.Image, len(request.Images))
	queries := []func(context.Context) error{func(ctx context.Context) (err error) {
		listed, err = a.listPod(ctx, request)
		return err
	}}
	for i, ref := range request.Images {
		queries = append(queries, func(ctx context.Context) (err error) {
			images[i], err = a.imageWithTimes(ctx, ref)
			return err
		})
	}
	if err := runInParallel(ctx, queries...); err != nil {
		return timeline.RuntimeSeen{}, err
	}
	// If a container was created during the queries, query the absent images again, because the container's image might
	// have arrived after the query about the image.
	if createdSince(listed.containers, seen.QueriedAt) {
		for i, ref := range request.Images {
			if images[i] == nil || images[i].Present {
				continue
			}
			var err error
			if images[i], err = a.imageWithTimes(ctx, ref); err != nil {
				return timeline.RuntimeSeen{}, err
			}
		}
	}
	if err := a.addWithTimes(ctx, listed, &seen); err != nil {
		return timeline.RuntimeSeen{}, err
	}
	for _, image := range images {
		if image != nil {
			seen.Images = append(seen.Images, *image)
		}
	}
	if err := a.stampLayers(ctx, request.Layers, seen.Images); err != nil {
		return timeline.RuntimeSeen{}, err
	}
	if request.Network {
		ready, known, err := a.client.networkReady(ctx)
		if onlyIfBroken(err) != nil {
			return timeline.RuntimeSeen{}, err
		}
		seen.NetworkUp, seen.NetworkDown = known && ready, known && !ready
	}
	seen.ArrivedAt = a.now()
	sortResponse(&seen)
	return seen, nil
}

// createdSince reports whether a container was created at the given time or later.
func createdSince(containers []*runtimeapi.Container, since time.Time) bool {
	return slices.ContainsFunc(containers, func(c *runtimeapi.Container) bool {
		return c.GetCreatedAt() >= since.UnixNano()
	})
}

// listing contains the sandboxes and containers of one pod.
type listing struct {
	sandboxes  []*runtimeapi.PodSandbox
	containers []*runtimeapi.Container
}

// listPod lists the sandboxes and containers of a pod. A pod without sandboxes has no containers, because the kubelet
// removes containers before their sandbox (kuberuntime_gc.go).
func (a *responder) listPod(ctx context.Context, request timeline.RuntimeRequest) (found listing, err error) {
	sandboxes := func(ctx context.Context) (err error) {
		found.sandboxes, err = a.client.listSandboxes(ctx, request.RuntimeUID)
		return err
	}
	containers := func(ctx context.Context) (err error) {
		found.containers, err = a.client.listContainers(ctx, request.RuntimeUID)
		return err
	}
	if request.Runs {
		err = runInParallel(ctx, sandboxes, containers)
	} else if err = sandboxes(ctx); err == nil && len(found.sandboxes) > 0 {
		err = containers(ctx)
	}
	return found, err
}

// addWithTimes adds the sandboxes and containers, with their timestamps, to a response.
func (a *responder) addWithTimes(ctx context.Context, listed listing, seen *timeline.RuntimeSeen) error {
	if len(listed.sandboxes) == 0 {
		return nil
	}
	seen.Sandboxes = make([]timeline.Sandbox, len(listed.sandboxes))
	seen.Containers = make([]timeline.ContainerRun, len(listed.containers))
	queries := []func(context.Context) error{func(ctx context.Context) error {
		// Query the sandboxes one after another. The result for one sandbox can make a query about the next sandbox
		// unnecessary.
		for i, sandbox := range listed.sandboxes {
			seen.Sandboxes[i] = convertSandbox(sandbox)
			createdAt, firstContainerAt := fromNanos(sandbox.GetCreatedAt()),
				earliestCreated(listed.containers, sandbox.GetId())
			if err := a.stampSandbox(ctx, &seen.Sandboxes[i], createdAt, firstContainerAt); err != nil {
				return err
			}
		}
		return nil
	}}
	for i, container := range listed.containers {
		queries = append(queries, func(ctx context.Context) error {
			state, err := a.containerStatus(ctx, container)
			seen.Containers[i] = convertContainer(container, state)
			return err
		})
	}
	return runInParallel(ctx, queries...)
}

// containerStatus returns the status of a container. If the runtime has removed the container, the result is nil. The
// start time of a running container never changes. The exit of an exited container never changes either. Therefore,
// containerStatus queries these facts only once. The argument "listed" contains the current state of the container.
func (a *responder) containerStatus(
	ctx context.Context, listed *runtimeapi.Container,
) (*runStatus, error) {
	cached, _ := a.statuses.Get(listed.GetId())
	known, ok := cached.(*runStatus)
	if ok && (known.exited || listed.GetState() == runtimeapi.ContainerState_CONTAINER_RUNNING) {
		return known, nil
	}
	state, err := a.client.containerStatus(ctx, listed.GetId())
	if status.Code(err) == codes.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	run := convertStatus(state)
	switch state.GetState() {
	case runtimeapi.ContainerState_CONTAINER_RUNNING, runtimeapi.ContainerState_CONTAINER_EXITED:
		a.statuses.Add(listed.GetId(), run)
	}
	return run, nil
}

// onlyIfBroken returns err if the runtime did not respond. For every other error, onlyIfBroken returns nil. If
// onlyIfBroken turns an error into nil, the caller omits an optional part of the response, and the agent does not retry
// the request.
func onlyIfBroken(err error) error {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return err
	}
	return nil
}

// imageWithTimes makes two queries in parallel: one for the status of an image, and one for the image in containerd's
// store. If the runtime responds with an error other than NotFound, the result is nil. For example, the reference is
// invalid.
func (a *responder) imageWithTimes(ctx context.Context, ref string) (*timeline.Image, error) {
	var image *timeline.Image
	var stored *imagesapi.Image
	err := runInParallel(ctx, func(ctx context.Context) (err error) {
		image, err = a.imageStatus(ctx, ref)
		return err
	}, func(ctx context.Context) (err error) {
		stored, err = a.storedImage(ctx, ref)
		return err
	})
	if err != nil || image == nil || !image.Present {
		return image, err
	}
	if stored == nil { // the image might have arrived after the response of the store
		if stored, err = a.storedImage(ctx, ref); err != nil {
			return nil, err
		}
	}
	stampImage(image, stored)
	return image, nil
}

// imageStatus queries the status of an image with CRI. The comment of imageWithTimes explains when the result is
// nil.
func (a *responder) imageStatus(ctx context.Context, ref string) (*timeline.Image, error) {
	response, err := a.client.imageStatus(ctx, ref)
	switch status.Code(err) {
	case codes.OK:
	case codes.NotFound: // some runtimes return this code for an absent image, although CRI does not permit it
		response = nil
	default:
		return nil, onlyIfBroken(err)
	}
	image := convertImage(ref, response)
	return &image, nil
}
