package cri

import (
	"context"

	"golang.org/x/sync/errgroup"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// uidLabel is the label with the pod's UID. The kubelet sets uidLabel on every sandbox and container.
const uidLabel = "io.kubernetes.pod.uid"

// Version requests the runtime's version.
func (c *Client) Version(ctx context.Context) error {
	_, err := c.runtime.Version(ctx, &runtimeapi.VersionRequest{})
	return err
}

// QueryArrived lists the sandboxes of a new pod, and requests the status of one image of the pod. The two requests run
// in parallel.
func (c *Client) QueryArrived(ctx context.Context, uid, image string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		_, err := c.images.ImageStatus(ctx, &runtimeapi.ImageStatusRequest{Image: &runtimeapi.ImageSpec{Image: image}})
		return err
	})
	group.Go(func() error {
		_, err := c.sandboxesOf(ctx, uid)
		return err
	})
	return group.Wait()
}

// QueryReady lists the sandboxes and the containers of a ready pod. The two list requests run in parallel. QueryReady
// then requests the status of each sandbox and of each container. All status requests run in parallel.
func (c *Client) QueryReady(ctx context.Context, uid string) error {
	var sandboxes []*runtimeapi.PodSandbox
	var containers []*runtimeapi.Container
	lists, listing := errgroup.WithContext(ctx)
	lists.Go(func() (err error) {
		sandboxes, err = c.sandboxesOf(listing, uid)
		return err
	})
	lists.Go(func() error {
		response, err := c.runtime.ListContainers(listing, &runtimeapi.ListContainersRequest{
			Filter: &runtimeapi.ContainerFilter{LabelSelector: map[string]string{uidLabel: uid}}})
		containers = response.GetContainers()
		return err
	})
	if err := lists.Wait(); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, sandbox := range sandboxes {
		group.Go(func() error {
			_, err := c.runtime.PodSandboxStatus(ctx,
				&runtimeapi.PodSandboxStatusRequest{PodSandboxId: sandbox.GetId()})
			return err
		})
	}
	for _, container := range containers {
		group.Go(func() error {
			_, err := c.runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: container.GetId()})
			return err
		})
	}
	return group.Wait()
}

func (c *Client) sandboxesOf(ctx context.Context, uid string) ([]*runtimeapi.PodSandbox, error) {
	response, err := c.runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{
		Filter: &runtimeapi.PodSandboxFilter{LabelSelector: map[string]string{uidLabel: uid}}})
	return response.GetItems(), err
}
