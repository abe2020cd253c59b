package cri

import (
	"context"
	"fmt"
	"time"

	containersapi "github.com/containerd/containerd/api/services/containers/v1"
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
	// maxResponse limits the size of one response in bytes. The kubelet's own CRI client has the same limit.
	maxResponse = 16 << 20
	// maxReconnectDelay is gRPC's longest back-off between two connection attempts. gRPC then makes each back-off up to
	// 20 % longer or shorter at random.
	maxReconnectDelay = 5 * time.Second
	// containerdNamespace is the namespace in which containerd's CRI plugin keeps its objects.
	containerdNamespace = "k8s.io"
	// uidLabel is the label with the pod's UID. The kubelet sets uidLabel on every sandbox and container.
	uidLabel = "io.kubernetes.pod.uid"
)

// client is the connection to one runtime. client provides the calls that the agent makes, each with a timeout.
// client is safe for concurrent use.
type client struct {
	conn    *grpc.ClientConn
	timeout time.Duration

	runtime    runtimeapi.RuntimeServiceClient
	image      runtimeapi.ImageServiceClient
	sandboxes  sandboxapi.StoreClient
	containers containersapi.ContainersClient
	images     imagesapi.ImagesClient
	content    contentapi.ContentClient
	snapshots  snapshotsapi.SnapshotsClient
}

// dial creates a client for a unix socket. The connection opens with the first call.
func dial(path string, timeout time.Duration) (*client, error) {
	conn, err := grpc.NewClient("unix://"+path,
		// the file mode of the socket protects the connection
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(allowUnary),
		grpc.WithStreamInterceptor(allowStream),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxResponse)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 2, Jitter: 0.2,
				MaxDelay: maxReconnectDelay},
			MinConnectTimeout: timeout,
		}),
		grpc.WithDisableServiceConfig(),
		// The agent has no retry policy for gRPC. Without the support for retries, each call is cheaper.
		grpc.WithDisableRetry(),
		grpc.WithNoProxy(),
	)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", path, err)
	}
	return &client{
		conn:       conn,
		timeout:    timeout,
		runtime:    runtimeapi.NewRuntimeServiceClient(conn),
		image:      runtimeapi.NewImageServiceClient(conn),
		sandboxes:  sandboxapi.NewStoreClient(conn),
		containers: containersapi.NewContainersClient(conn),
		images:     imagesapi.NewImagesClient(conn),
		content:    contentapi.NewContentClient(conn),
		snapshots:  snapshotsapi.NewSnapshotsClient(conn),
	}, nil
}

func (c *client) close() { _ = c.conn.Close() }

// callRuntime calls one method of the runtime with the client's timeout. The argument "what" describes the call in
// errors.
func callRuntime[Q, A any](
	ctx context.Context, c *client, what string,
	method func(context.Context, Q, ...grpc.CallOption) (A, error), request Q,
) (A, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	response, err := method(ctx, request)
	if err != nil {
		err = fmt.Errorf("%s: %w", what, err)
	}
	return response, err
}

func (c *client) version(ctx context.Context) (*runtimeapi.VersionResponse, error) {
	return callRuntime(ctx, c, "get runtime version", c.runtime.Version, &runtimeapi.VersionRequest{})
}

// networkReady reports whether the runtime's network is ready. If the runtime does not report the condition
// NetworkReady, the result "known" is false.
func (c *client) networkReady(ctx context.Context) (ready, known bool, err error) {
	response, err := callRuntime(ctx, c, "get runtime status", c.runtime.Status, &runtimeapi.StatusRequest{})
	for _, condition := range response.GetStatus().GetConditions() {
		if condition.GetType() == runtimeapi.NetworkReady {
			return condition.GetStatus(), true, nil
		}
	}
	return false, false, err
}

func (c *client) listSandboxes(ctx context.Context, uid string) ([]*runtimeapi.PodSandbox, error) {
	response, err := callRuntime(ctx, c, "list sandboxes", c.runtime.ListPodSandbox, &runtimeapi.ListPodSandboxRequest{
		Filter: &runtimeapi.PodSandboxFilter{LabelSelector: map[string]string{uidLabel: uid}},
	})
	return response.GetItems(), err
}

func (c *client) listContainers(ctx context.Context, uid string) ([]*runtimeapi.Container, error) {
	response, err := callRuntime(ctx, c, "list containers", c.runtime.ListContainers, &runtimeapi.ListContainersRequest{
		Filter: &runtimeapi.ContainerFilter{LabelSelector: map[string]string{uidLabel: uid}},
	})
	return response.GetContainers(), err
}

// containerStatus returns an error with codes.NotFound if the runtime has removed the container.
func (c *client) containerStatus(ctx context.Context, id string) (*runtimeapi.ContainerStatus, error) {
	response, err := callRuntime(ctx, c, "get container status", c.runtime.ContainerStatus,
		&runtimeapi.ContainerStatusRequest{ContainerId: id})
	return response.GetStatus(), err
}

// imageStatus returns nil without an error if the image is not on the node.
func (c *client) imageStatus(ctx context.Context, ref string) (*runtimeapi.Image, error) {
	response, err := callRuntime(ctx, c, "get image status", c.image.ImageStatus,
		&runtimeapi.ImageStatusRequest{Image: &runtimeapi.ImageSpec{Image: ref}})
	return response.GetImage(), err
}

// storedSandbox queries containerd's sandbox store. storedSandbox returns an error with codes.NotFound if the store
// does not contain the sandbox.
func (c *client) storedSandbox(ctx context.Context, id string) (*types.Sandbox, error) {
	response, err := callRuntime(inNamespace(ctx), c, "get sandbox from containerd", c.sandboxes.Get,
		&sandboxapi.StoreGetRequest{SandboxID: id})
	return response.GetSandbox(), err
}

// storedContainer queries containerd's container store. storedContainer returns an error with codes.NotFound if the
// store does not contain the container.
func (c *client) storedContainer(ctx context.Context, id string) (*containersapi.Container, error) {
	response, err := callRuntime(inNamespace(ctx), c, "get container from containerd", c.containers.Get,
		&containersapi.GetContainerRequest{ID: id})
	return response.GetContainer(), err
}

// storedImage queries containerd's image store. storedImage returns an error with codes.NotFound if the store contains
// no image with this name.
func (c *client) storedImage(ctx context.Context, name string) (*imagesapi.Image, error) {
	response, err := callRuntime(inNamespace(ctx), c, "get image from containerd", c.images.Get,
		&imagesapi.GetImageRequest{Name: name})
	return response.GetImage(), err
}

// pinnedImages returns the pinned images in containerd's image store.
func (c *client) pinnedImages(ctx context.Context) ([]*imagesapi.Image, error) {
	response, err := callRuntime(inNamespace(ctx), c, "list pinned images of containerd", c.images.List,
		&imagesapi.ListImagesRequest{Filters: []string{pinnedFilter}})
	return response.GetImages(), err
}

func inNamespace(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "containerd-namespace", containerdNamespace)
}
