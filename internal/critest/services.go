package critest

import (
	"context"
	"maps"
	"slices"
	"strings"

	containersapi "github.com/containerd/containerd/api/services/containers/v1"
	imagesapi "github.com/containerd/containerd/api/services/images/v1"
	sandboxapi "github.com/containerd/containerd/api/services/sandbox/v1"
	"github.com/containerd/containerd/api/types"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/timestamppb"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

type runtimeService struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	r *Runtime
}

func (s runtimeService) Version(context.Context, *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	return &runtimeapi.VersionResponse{
		Version: "0.1.0", RuntimeName: s.r.name, RuntimeVersion: s.r.version, RuntimeApiVersion: "v1",
	}, nil
}

func (s runtimeService) Status(context.Context, *runtimeapi.StatusRequest) (*runtimeapi.StatusResponse, error) {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	return &runtimeapi.StatusResponse{Status: &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{
		{Type: runtimeapi.RuntimeReady, Status: true}, {Type: runtimeapi.NetworkReady, Status: !s.r.noNetwork},
	}}}, nil
}

func (s runtimeService) ListPodSandbox(
	_ context.Context, request *runtimeapi.ListPodSandboxRequest,
) (*runtimeapi.ListPodSandboxResponse, error) {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	response := &runtimeapi.ListPodSandboxResponse{}
	for _, sandbox := range sortedByKey(s.r.sandboxes) {
		if matches(sandbox.Labels, request.GetFilter().GetLabelSelector()) {
			response.Items = append(response.Items, sandbox)
		}
	}
	return response, nil
}

func (s runtimeService) ListContainers(
	_ context.Context, request *runtimeapi.ListContainersRequest,
) (*runtimeapi.ListContainersResponse, error) {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	response := &runtimeapi.ListContainersResponse{}
	for _, c := range sortedByKey(s.r.containers) {
		if matches(c.Labels, request.GetFilter().GetLabelSelector()) {
			response.Containers = append(response.Containers, &runtimeapi.Container{
				Id: c.Id, PodSandboxId: s.r.owners[c.Id], Metadata: c.Metadata, State: c.State,
				CreatedAt: c.CreatedAt, Labels: c.Labels, Annotations: c.Annotations,
			})
		}
	}
	return response, nil
}

func (s runtimeService) ContainerStatus(
	_ context.Context, request *runtimeapi.ContainerStatusRequest,
) (*runtimeapi.ContainerStatusResponse, error) {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	c, ok := s.r.containers[request.GetContainerId()]
	if !ok {
		return nil, status.Error(codes.NotFound, "no such container")
	}
	return &runtimeapi.ContainerStatusResponse{Status: c}, nil
}

type imageService struct {
	runtimeapi.UnimplementedImageServiceServer
	r *Runtime
}

func (s imageService) ImageStatus(
	_ context.Context, request *runtimeapi.ImageStatusRequest,
) (*runtimeapi.ImageStatusResponse, error) {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	return &runtimeapi.ImageStatusResponse{Image: s.r.images[request.GetImage().GetImage()]}, nil
}

type sandboxStore struct {
	sandboxapi.UnimplementedStoreServer
	r *Runtime
}

func (s sandboxStore) Get(
	ctx context.Context, request *sandboxapi.StoreGetRequest,
) (*sandboxapi.StoreGetResponse, error) {
	if err := inNamespace(ctx); err != nil {
		return nil, err
	}
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	stamps, ok := s.r.stored[request.GetSandboxID()]
	if !ok {
		return nil, status.Error(codes.NotFound, "no such sandbox")
	}
	return &sandboxapi.StoreGetResponse{Sandbox: &types.Sandbox{
		SandboxID: request.GetSandboxID(), Sandboxer: s.r.sandboxer,
		CreatedAt: timestamppb.New(stamps.CreatedAt), UpdatedAt: timestamppb.New(stamps.UpdatedAt),
	}}, nil
}

type containerStore struct {
	containersapi.UnimplementedContainersServer
	r *Runtime
}

func (s containerStore) Get(
	ctx context.Context, request *containersapi.GetContainerRequest,
) (*containersapi.GetContainerResponse, error) {
	if err := inNamespace(ctx); err != nil {
		return nil, err
	}
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	record, ok := s.r.records[request.GetID()]
	if !ok {
		return nil, status.Error(codes.NotFound, "no such container")
	}
	return &containersapi.GetContainerResponse{Container: &containersapi.Container{
		ID: request.GetID(), Labels: map[string]string{"io.cri-containerd.kind": record.Kind}, Image: record.Image,
		Spec: &anypb.Any{TypeUrl: "types.containerd.io/opencontainers/runtime-spec/1/Spec",
			Value: []byte(record.Spec)},
		CreatedAt: timestamppb.New(record.CreatedAt), UpdatedAt: timestamppb.New(record.UpdatedAt),
	}}, nil
}

type imageStore struct {
	imagesapi.UnimplementedImagesServer
	r *Runtime
}

func (s imageStore) Get(ctx context.Context, request *imagesapi.GetImageRequest) (*imagesapi.GetImageResponse, error) {
	if err := inNamespace(ctx); err != nil {
		return nil, err
	}
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	image, ok := s.r.pulled[request.GetName()]
	if !ok {
		return nil, status.Error(codes.NotFound, "no such image")
	}
	return &imagesapi.GetImageResponse{Image: &imagesapi.Image{
		Name: request.GetName(), Target: &types.Descriptor{Digest: image.Digest},
		CreatedAt: timestamppb.New(image.CreatedAt), UpdatedAt: timestamppb.New(image.UpdatedAt),
	}}, nil
}

// List returns the pinned images. The request must contain exactly one filter, and the filter must contain the word
// "pinned". List does not evaluate the filter.
func (s imageStore) List(
	ctx context.Context, request *imagesapi.ListImagesRequest,
) (*imagesapi.ListImagesResponse, error) {
	if err := inNamespace(ctx); err != nil {
		return nil, err
	}
	if len(request.GetFilters()) != 1 || !strings.Contains(request.GetFilters()[0], "pinned") {
		return nil, status.Error(codes.InvalidArgument, "want a filter for pinned images")
	}
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	response := &imagesapi.ListImagesResponse{}
	for _, name := range slices.Sorted(maps.Keys(s.r.pinned)) {
		image := s.r.pinned[name]
		response.Images = append(response.Images, &imagesapi.Image{
			Name: name, Target: &types.Descriptor{Digest: image.Digest},
			CreatedAt: timestamppb.New(image.CreatedAt), UpdatedAt: timestamppb.New(image.UpdatedAt),
		})
	}
	return response, nil
}

// inNamespace returns an error if a call does not specify the namespace k8s.io. The error is the error that containerd
// returns for a call without a namespace.
func inNamespace(ctx context.Context) error {
	md, _ := metadata.FromIncomingContext(ctx)
	if got := md.Get("containerd-namespace"); len(got) != 1 || got[0] != "k8s.io" {
		return status.Error(codes.FailedPrecondition, "namespace is required")
	}
	return nil
}
