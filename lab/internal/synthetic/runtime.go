package synthetic

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"time"

	imagesapi "github.com/containerd/containerd/api/services/images/v1"
	sandboxapi "github.com/containerd/containerd/api/services/sandbox/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// The labels that the kubelet sets on sandboxes and containers.
const (
	uidLabel       = "io.kubernetes.pod.uid"
	podLabel       = "io.kubernetes.pod.name"
	namespaceLabel = "io.kubernetes.pod.namespace"
	containerLabel = "io.kubernetes.container.name"
	restartCount   = "io.kubernetes.container.restartCount"
)

// Runtime is a simulated container runtime. Runtime runs no containers, and reports only the pods that the lab added.
// Runtime supports only read requests. Runtime is safe for concurrent use.
type Runtime struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	runtimeapi.UnimplementedImageServiceServer

	name, version string
	stores        bool // true if the runtime has containerd's store of sandboxes

	mu         sync.Mutex
	sandboxes  map[string][]*runtimeapi.PodSandbox // key: UID of the pod; the field "containers" has the same keys
	containers map[string][]*runtimeapi.Container
	statuses   map[string]*runtimeapi.ContainerStatus // key: ID of the container
	images     map[string]bool
	stamps     map[string]sandboxStamps // key: ID of the sandbox
}

// NewRuntime returns a runtime without pods and images.
func NewRuntime() *Runtime {
	return &Runtime{name: "podlapse-lab", version: "1", stamps: make(map[string]sandboxStamps),
		sandboxes: make(map[string][]*runtimeapi.PodSandbox), containers: make(map[string][]*runtimeapi.Container),
		statuses: make(map[string]*runtimeapi.ContainerStatus), images: make(map[string]bool)}
}

// Serve serves CRI requests on a socket until the caller calls stop.
func (r *Runtime) Serve(socket string) (stop func(), err error) {
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("serve the synthetic runtime: %w", err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("serve the synthetic runtime: %w", err)
	}
	server := grpc.NewServer()
	runtimeapi.RegisterRuntimeServiceServer(server, r)
	runtimeapi.RegisterImageServiceServer(server, r)
	if r.stores {
		sandboxapi.RegisterStoreServer(server, sandboxStore{runtime: r})
		imagesapi.RegisterImagesServer(server, imageStore{})
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	return func() { server.Stop(); serving.Wait() }, nil
}

// AddImage adds an image to the images of the node.
func (r *Runtime) AddImage(reference string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.images[reference] = true
}

// addSandbox adds the sandbox of a pod. The time networkReadyAt must be between the creation and the start of the
// sandbox.
func (r *Runtime) addSandbox(p pod, stamps sandboxStamps, networkReadyAt time.Time) {
	id := "sandbox-" + p.uid
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stamps[id] = stamps
	r.sandboxes[p.uid] = append(r.sandboxes[p.uid], &runtimeapi.PodSandbox{
		Id: id, Metadata: &runtimeapi.PodSandboxMetadata{Name: p.name, Namespace: p.namespace, Uid: p.uid},
		State: runtimeapi.PodSandboxState_SANDBOX_READY, CreatedAt: networkReadyAt.UnixNano(), Labels: p.labels(""),
	})
}

// addContainer adds a running container to a pod, and returns the container's ID.
func (r *Runtime) addContainer(p pod, name, image string, createdAt, startedAt time.Time) string {
	id := p.uid + "-" + name
	spec := &runtimeapi.ImageSpec{Image: image, UserSpecifiedImage: image}
	metadata := &runtimeapi.ContainerMetadata{Name: name}
	annotations := map[string]string{restartCount: "0"}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.containers[p.uid] = append(r.containers[p.uid], &runtimeapi.Container{
		Id: id, PodSandboxId: "sandbox-" + p.uid, Metadata: metadata, Image: spec, ImageRef: imageID(image),
		State: runtimeapi.ContainerState_CONTAINER_RUNNING, CreatedAt: createdAt.UnixNano(), Labels: p.labels(name),
		Annotations: annotations,
	})
	r.statuses[id] = &runtimeapi.ContainerStatus{
		Id: id, Metadata: metadata, State: runtimeapi.ContainerState_CONTAINER_RUNNING, CreatedAt: createdAt.UnixNano(),
		StartedAt: startedAt.UnixNano(), Image: spec, ImageRef: imageID(image), Labels: p.labels(name),
		Annotations: annotations,
	}
	return id
}

// Version and the methods below, except ImageStatus, implement runtimeapi.RuntimeServiceServer.
func (r *Runtime) Version(context.Context, *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{Version: "0.1.0", RuntimeName: r.name, RuntimeVersion: r.version,
		RuntimeApiVersion: "v1"}, nil
}

// ListPodSandbox returns the sandboxes of one pod. If the request does not select a pod, ListPodSandbox returns no
// sandboxes.
func (r *Runtime) ListPodSandbox(_ context.Context,
	request *runtimeapi.ListPodSandboxRequest) (*runtimeapi.ListPodSandboxResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	uid := request.GetFilter().GetLabelSelector()[uidLabel]
	return &runtimeapi.ListPodSandboxResponse{Items: append([]*runtimeapi.PodSandbox(nil), r.sandboxes[uid]...)}, nil
}

// ListContainers returns the containers of one pod. If the request does not select a pod, ListContainers returns no
// containers.
func (r *Runtime) ListContainers(_ context.Context,
	request *runtimeapi.ListContainersRequest) (*runtimeapi.ListContainersResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	uid := request.GetFilter().GetLabelSelector()[uidLabel]
	return &runtimeapi.ListContainersResponse{Containers: append([]*runtimeapi.Container(nil), r.containers[uid]...)},
		nil
}

// ContainerStatus returns the status of one container.
func (r *Runtime) ContainerStatus(_ context.Context,
	request *runtimeapi.ContainerStatusRequest) (*runtimeapi.ContainerStatusResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	state, ok := r.statuses[request.GetContainerId()]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "container %s: not found", request.GetContainerId())
	}
	return &runtimeapi.ContainerStatusResponse{Status: state}, nil
}

// ImageStatus implements runtimeapi.ImageServiceServer. If the image is not on the node, the response contains no
// image.
func (r *Runtime) ImageStatus(_ context.Context,
	request *runtimeapi.ImageStatusRequest) (*runtimeapi.ImageStatusResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	reference := request.GetImage().GetImage()
	if !r.images[reference] {
		return &runtimeapi.ImageStatusResponse{}, nil
	}
	return &runtimeapi.ImageStatusResponse{
		Image: &runtimeapi.Image{Id: imageID(reference), RepoTags: []string{reference}, Size: imageSize}}, nil
}
