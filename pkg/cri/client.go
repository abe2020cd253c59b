package cri

import (
	"context"
	"fmt"
	"time"

	contentapi "github.com/containerd/containerd/api/services/content/v1"
	imagesapi "github.com/containerd/containerd/api/services/images/v1"
	sandboxapi "github.com/containerd/containerd/api/services/sandbox/v1"
	snapshotsapi "github.com/containerd/containerd/api/services/snapshots/v1"
	"github.com/containerd/containerd/api/types"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	// maxAnswer limits one response in bytes, like the kubelet's own CRI client.
	maxAnswer = 16 << 20
	// maxReconnectDelay limits how long the connection stays down after the runtime is back.
	maxReconnectDelay = 5 * time.Second
	// containerdNamespace is the namespace in which containerd's CRI plugin keeps its objects.
	containerdNamespace = "k8s.io"
	// uidLabel is the label that the kubelet puts on every sandbox and container.
	uidLabel = "io.kubernetes.pod.uid"
)

// client is the connection to one runtime, with the calls that the agent makes, each with a
// timeout. It is safe for concurrent use.
type client struct {
	conn    *grpc.ClientConn
	timeout time.Duration

	runtime   runtimeapi.RuntimeServiceClient
	image     runtimeapi.ImageServiceClient
	sandboxes sandboxapi.StoreClient
	images    imagesapi.ImagesClient
	content   contentapi.ContentClient
	snapshots snapshotsapi.SnapshotsClient
}

// dial creates a client for a unix socket. It does not connect; the first call does.
func dial(path string, timeout time.Duration) (*client, error) {
	conn, err := grpc.NewClient("unix://"+path,
		grpc.WithTransportCredentials(insecure.NewCredentials()), // the socket's mode protects it
		grpc.WithUnaryInterceptor(allowUnary),
		grpc.WithStreamInterceptor(allowStream),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 2, Jitter: 0.2,
				MaxDelay: maxReconnectDelay},
			MinConnectTimeout: timeout,
		}),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(), // there is no retry policy, and support for one costs each call
		grpc.WithNoProxy(),
	)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", path, err)
	}
	return &client{
		conn:      conn,
		timeout:   timeout,
		runtime:   runtimeapi.NewRuntimeServiceClient(conn),
		image:     runtimeapi.NewImageServiceClient(conn),
		sandboxes: sandboxapi.NewStoreClient(conn),
		images:    imagesapi.NewImagesClient(conn),
		content:   contentapi.NewContentClient(conn),
		snapshots: snapshotsapi.NewSnapshotsClient(conn),
	}, nil
}

func (c *client) close() { _ = c.conn.Close() }

func (c *client) version(ctx context.Context) (*runtimeapi.VersionResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	version, err := c.runtime.Version(ctx, &runtimeapi.VersionRequest{})
	if err != nil {
		return nil, fmt.Errorf("get runtime version: %w", err)
	}
	return version, nil
}

// networkReady reports whether the runtime's network is ready; known is false if the runtime does
// not say.
func (c *client) networkReady(ctx context.Context) (ready, known bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	answer, err := c.runtime.Status(ctx, &runtimeapi.StatusRequest{})
	if err != nil {
		return false, false, fmt.Errorf("get runtime status: %w", err)
	}
	for _, condition := range answer.GetStatus().GetConditions() {
		if condition.GetType() == runtimeapi.NetworkReady {
			return condition.GetStatus(), true, nil
		}
	}
	return false, false, nil
}

func (c *client) listSandboxes(ctx context.Context, uid string) ([]*runtimeapi.PodSandbox, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	answer, err := c.runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{
		Filter: &runtimeapi.PodSandboxFilter{LabelSelector: map[string]string{uidLabel: uid}},
	})
	if err != nil {
		return nil, fmt.Errorf("list sandboxes: %w", err)
	}
	return answer.GetItems(), nil
}

func (c *client) listContainers(ctx context.Context, uid string) ([]*runtimeapi.Container, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	answer, err := c.runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{
		Filter: &runtimeapi.ContainerFilter{LabelSelector: map[string]string{uidLabel: uid}},
	})
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	return answer.GetContainers(), nil
}

// containerStatus fails with codes.NotFound once the container is removed.
func (c *client) containerStatus(ctx context.Context, id string) (*runtimeapi.ContainerStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	answer, err := c.runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id})
	if err != nil {
		return nil, fmt.Errorf("get container status: %w", err)
	}
	return answer.GetStatus(), nil
}

// imageStatus returns nil without an error if the image is not on the node.
func (c *client) imageStatus(ctx context.Context, ref string) (*runtimeapi.Image, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	answer, err := c.image.ImageStatus(ctx, &runtimeapi.ImageStatusRequest{Image: &runtimeapi.ImageSpec{Image: ref}})
	if err != nil {
		return nil, fmt.Errorf("get image status: %w", err)
	}
	return answer.GetImage(), nil
}

// storedSandbox queries containerd's sandbox store. It fails with codes.NotFound if the sandbox is
// not there.
func (c *client) storedSandbox(ctx context.Context, id string) (*types.Sandbox, error) {
	ctx, cancel := context.WithTimeout(inNamespace(ctx), c.timeout)
	defer cancel()
	answer, err := c.sandboxes.Get(ctx, &sandboxapi.StoreGetRequest{SandboxID: id})
	if err != nil {
		return nil, fmt.Errorf("get sandbox from containerd: %w", err)
	}
	return answer.GetSandbox(), nil
}

// storedImage queries containerd's image store. It fails with codes.NotFound if the name is not
// there.
func (c *client) storedImage(ctx context.Context, name string) (*imagesapi.Image, error) {
	ctx, cancel := context.WithTimeout(inNamespace(ctx), c.timeout)
	defer cancel()
	answer, err := c.images.Get(ctx, &imagesapi.GetImageRequest{Name: name})
	if err != nil {
		return nil, fmt.Errorf("get image from containerd: %w", err)
	}
	return answer.GetImage(), nil
}

// pinnedImages lists the pinned images of containerd's image store.
func (c *client) pinnedImages(ctx context.Context) ([]*imagesapi.Image, error) {
	ctx, cancel := context.WithTimeout(inNamespace(ctx), c.timeout)
	defer cancel()
	answer, err := c.images.List(ctx, &imagesapi.ListImagesRequest{Filters: []string{pinnedFilter}})
	if err != nil {
		return nil, fmt.Errorf("list pinned images of containerd: %w", err)
	}
	return answer.GetImages(), nil
}

func inNamespace(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "containerd-namespace", containerdNamespace)
}
