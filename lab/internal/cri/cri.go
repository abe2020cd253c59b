// Package cri is the lab's own client of the container runtime. The package pulls images without the kubelet, removes
// the images that scenarios created, and removes the pods when the node stops.
package cri

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podlapse/podlapse/lab/internal/credentials"
)

// Client is a connection to the runtime. Client is safe for concurrent use. Close closes the connection.
type Client struct {
	connection *grpc.ClientConn
	runtime    runtimeapi.RuntimeServiceClient
	images     runtimeapi.ImageServiceClient
}

// Dial returns a client for the socket at an absolute path. The client connects to the socket at the first call.
func Dial(socket string) (*Client, error) {
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("connect to the container runtime: %w", err)
	}
	return &Client{connection: connection, runtime: runtimeapi.NewRuntimeServiceClient(connection),
		images: runtimeapi.NewImageServiceClient(connection)}, nil
}

// Close closes the connection.
func (c *Client) Close() { _ = c.connection.Close() }

// Ready returns nil if the runtime is ready to run pods and the network is ready.
func (c *Client) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	response, err := c.runtime.Status(ctx, &runtimeapi.StatusRequest{})
	if err != nil {
		return err
	}
	for _, condition := range response.GetStatus().GetConditions() {
		// The other conditions are only warnings, for example about deprecated features.
		needed := condition.GetType() == runtimeapi.RuntimeReady || condition.GetType() == runtimeapi.NetworkReady
		if needed && !condition.GetStatus() {
			return fmt.Errorf("condition %q of the container runtime is false: %s: %s", condition.GetType(),
				condition.GetReason(), condition.GetMessage())
		}
	}
	return nil
}

// Pull pulls an image if the image is not on the node. If the registry needs no credentials, the argument "login" is
// empty.
func (c *Client) Pull(ctx context.Context, reference string, login credentials.Login) error {
	spec := &runtimeapi.ImageSpec{Image: reference}
	have, err := c.images.ImageStatus(ctx, &runtimeapi.ImageStatusRequest{Image: spec})
	if err == nil && have.GetImage() != nil {
		return nil
	}
	request := &runtimeapi.PullImageRequest{Image: spec,
		Auth: &runtimeapi.AuthConfig{Username: login.Username, Password: login.Password}}
	if _, err := c.images.PullImage(ctx, request); err != nil {
		return fmt.Errorf("pull image %s: %w", reference, err)
	}
	return nil
}

// RemoveImages removes from the node all images whose reference starts with the prefix.
func (c *Client) RemoveImages(ctx context.Context, prefix string) error {
	list, err := c.images.ListImages(ctx, &runtimeapi.ListImagesRequest{})
	if err != nil {
		return fmt.Errorf("list images: %w", err)
	}
	for _, image := range list.GetImages() {
		// An image that was pulled by digest has no tag. The only references of such an image are its repository
		// digests.
		for _, tag := range slices.Concat(image.GetRepoTags(), image.GetRepoDigests()) {
			if !strings.HasPrefix(tag, prefix) {
				continue
			}
			request := &runtimeapi.RemoveImageRequest{Image: &runtimeapi.ImageSpec{Image: image.GetId()}}
			if _, err := c.images.RemoveImage(ctx, request); err != nil {
				return fmt.Errorf("remove image %s: %w", tag, err)
			}
			break
		}
	}
	return nil
}

// RemovePods stops and removes all pods in parallel. RemovePods continues if the removal of a pod fails. The returned
// error contains at most one error for each pod.
func (c *Client) RemovePods(ctx context.Context) error {
	list, err := c.runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	sandboxes := list.GetItems()
	failures := make([]error, len(sandboxes))
	var all sync.WaitGroup
	for i, sandbox := range sandboxes {
		all.Go(func() {
			_, err := c.runtime.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: sandbox.GetId()})
			if err == nil {
				_, err = c.runtime.RemovePodSandbox(ctx,
					&runtimeapi.RemovePodSandboxRequest{PodSandboxId: sandbox.GetId()})
			}
			if err != nil {
				failures[i] = fmt.Errorf("remove pod %s: %w", sandbox.GetMetadata().GetName(), err)
			}
		})
	}
	all.Wait()
	return errors.Join(failures...)
}
