package synthetic

import (
	"context"
	"time"

	imagesapi "github.com/containerd/containerd/api/services/images/v1"
	sandboxapi "github.com/containerd/containerd/api/services/sandbox/v1"
	"github.com/containerd/containerd/api/types"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// NewContainerd returns a runtime that identifies itself as containerd 2, and that has containerd's store of sandboxes.
// With the timestamps of the sandbox store and of CRI, the agent can separate the phases "volumes", "network" and
// "sandbox". The image store contains only a sandbox image that was pulled long ago. The runtime has no other stores.
func NewContainerd() *Runtime {
	r := NewRuntime()
	r.name, r.version, r.stores = "containerd", "2.4.2", true
	return r
}

// sandboxStore is containerd's store of sandboxes.
type sandboxStore struct {
	sandboxapi.UnimplementedStoreServer
	runtime *Runtime
}

// sandboxStamps contains two times: when the kubelet requested a sandbox, and when the sandbox began to run.
type sandboxStamps struct{ begunAt, runningAt time.Time }

// Get implements sandboxapi.StoreServer.
func (s sandboxStore) Get(_ context.Context,
	request *sandboxapi.StoreGetRequest) (*sandboxapi.StoreGetResponse, error) {
	s.runtime.mu.Lock()
	defer s.runtime.mu.Unlock()
	stamps, ok := s.runtime.stamps[request.GetSandboxID()]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "sandbox %s: not found", request.GetSandboxID())
	}
	return &sandboxapi.StoreGetResponse{Sandbox: &types.Sandbox{SandboxID: request.GetSandboxID(),
		Sandboxer: "podsandbox", CreatedAt: timestamppb.New(stamps.begunAt),
		UpdatedAt: timestamppb.New(stamps.runningAt)}}, nil
}

// imageStore is containerd's store of images.
type imageStore struct {
	imagesapi.UnimplementedImagesServer
}

// Get implements imagesapi.ImagesServer. Get never finds an image, so the images of containers have no timestamps.
func (imageStore) Get(_ context.Context, request *imagesapi.GetImageRequest) (*imagesapi.GetImageResponse, error) {
	return nil, status.Errorf(codes.NotFound, "image %s: not found", request.GetName())
}

// List implements imagesapi.ImagesServer. The agent requests only the list of pinned images, so List returns only the
// sandbox image.
func (imageStore) List(context.Context, *imagesapi.ListImagesRequest) (*imagesapi.ListImagesResponse, error) {
	longAgo := timestamppb.New(time.Unix(1_600_000_000, 0))
	return &imagesapi.ListImagesResponse{Images: []*imagesapi.Image{
		{Name: "registry.k8s.io/pause:3.10", CreatedAt: longAgo, UpdatedAt: longAgo},
	}}, nil
}
