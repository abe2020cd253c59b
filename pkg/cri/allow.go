package cri

import (
	"context"
	"errors"
	"fmt"

	containersapi "github.com/containerd/containerd/api/services/containers/v1"
	contentapi "github.com/containerd/containerd/api/services/content/v1"
	imagesapi "github.com/containerd/containerd/api/services/images/v1"
	sandboxapi "github.com/containerd/containerd/api/services/sandbox/v1"
	snapshotsapi "github.com/containerd/containerd/api/services/snapshots/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// allowedMethods lists every permitted unary method with its permitted requests. All permitted methods only read and
// have no side effect in the runtime. The agent's client and the runtime proxy use allowedMethods.
var allowedMethods = map[string]rule{
	"/runtime.v1.RuntimeService/Version": {request: &runtimeapi.VersionRequest{}},
	"/runtime.v1.RuntimeService/Status":  {request: &runtimeapi.StatusRequest{}},
	"/runtime.v1.RuntimeService/ListPodSandbox": {
		request: &runtimeapi.ListPodSandboxRequest{}, fields: []string{"filter.label_selector"},
		check: sandboxesOfOnePod,
	},
	"/runtime.v1.RuntimeService/ListContainers": {
		request: &runtimeapi.ListContainersRequest{}, fields: []string{"filter.label_selector"},
		check: containersOfOnePod,
	},
	"/runtime.v1.RuntimeService/ContainerStatus": {
		request: &runtimeapi.ContainerStatusRequest{}, fields: []string{"container_id"},
	},
	"/runtime.v1.ImageService/ImageStatus": {request: &runtimeapi.ImageStatusRequest{},
		fields: []string{"image.image"}},

	"/containerd.services.sandbox.v1.Store/Get": {request: &sandboxapi.StoreGetRequest{},
		fields: []string{"sandbox_id"}},
	"/containerd.services.containers.v1.Containers/Get": {
		request: &containersapi.GetContainerRequest{}, fields: []string{"id"}, response: onlySandboxContainer,
	},
	"/containerd.services.images.v1.Images/Get": {request: &imagesapi.GetImageRequest{}, fields: []string{"name"}},
	"/containerd.services.images.v1.Images/List": {
		request: &imagesapi.ListImagesRequest{}, fields: []string{"filters"}, check: onlyPinnedImages,
	},

	"/containerd.services.content.v1.Content/Info": {request: &contentapi.InfoRequest{}, fields: []string{"digest"}},
	"/containerd.services.content.v1.Content/ListStatuses": {
		request: &contentapi.ListStatusesRequest{},
	},
	"/containerd.services.snapshots.v1.Snapshots/Stat": {
		request: &snapshotsapi.StatSnapshotRequest{}, fields: []string{"snapshotter", "key"},
	},
}

// allowedStreams lists every permitted stream. In each permitted stream, the client sends one request, and then only
// the server sends messages.
var allowedStreams = map[string]rule{
	"/containerd.services.content.v1.Content/List": {
		request: &contentapi.ListContentRequest{}, fields: []string{"filters"}, check: onlyManifests,
	},
	"/containerd.services.content.v1.Content/Read": {
		request: &contentapi.ReadContentRequest{}, fields: []string{"digest", "size"}, check: limitedBlobSize,
		response: onlyJSON,
	},
}

var errRefused = errors.New("the agent refused to send the call, because only certain read-only calls are permitted")

// allowUnary is the interceptor for every unary call on the connection.
func allowUnary(
	ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker,
	options ...grpc.CallOption,
) error {
	r, ok := allowedMethods[method]
	if !ok {
		return fmt.Errorf("call %s: %w", method, errRefused)
	}
	if err := r.judge(request); err != nil {
		return fmt.Errorf("call %s: %w: %w", method, errRefused, err)
	}
	return invoke(ctx, method, request, reply, conn, options...)
}

// allowStream is the interceptor for every stream on the connection.
func allowStream(
	ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer,
	options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	r, ok := allowedStreams[method]
	if !ok || desc.ClientStreams {
		return nil, fmt.Errorf("stream %s: %w", method, errRefused)
	}
	return &judgedStream{method: method, rule: r, open: func() (grpc.ClientStream, error) {
		return open(ctx, desc, conn, method, options...)
	}}, nil
}

// judgedStream checks the request before it opens the stream, so the runtime never sees a refused stream. Without
// judgedStream, gRPC would open the stream before it sends the request. Callers must send the request before they call
// any other method.
type judgedStream struct {
	grpc.ClientStream // nil before the request
	method            string
	rule              rule
	open              func() (grpc.ClientStream, error)
}

// SendMsg implements grpc.ClientStream.
func (s *judgedStream) SendMsg(request any) (err error) {
	if err := s.rule.judge(request); err != nil {
		return fmt.Errorf("stream %s: %w: %w", s.method, errRefused, err)
	}
	if s.ClientStream == nil {
		if s.ClientStream, err = s.open(); err != nil {
			return err
		}
	}
	return s.ClientStream.SendMsg(request)
}

// Call is a permitted method. The runtime proxy uses Call to check encoded requests and responses.
type Call struct{ rule rule }

// Allowed returns the permitted call for a full method name. Allowed returns false for every method that the
// agent does not call.
func Allowed(method string) (Call, bool) {
	r, ok := allowedMethods[method]
	if !ok {
		r, ok = allowedStreams[method]
	}
	return Call{r}, ok
}

// Request checks an encoded request, and returns a new encoding that contains only the checked fields. Request removes
// every field that the agent does not know, because a newer runtime might know the field.
func (c Call) Request(data []byte) ([]byte, error) {
	request := c.rule.request.ProtoReflect().New().Interface()
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, request); err != nil {
		return nil, fmt.Errorf("parse the request: %w", err)
	}
	if err := c.rule.judge(request); err != nil {
		return nil, err
	}
	return proto.Marshal(request)
}

// Response checks the first message of a response. Response calls the function "encoded" only if the rule has a check
// for responses.
func (c Call) Response(encoded func() []byte) error {
	if c.rule.response == nil {
		return nil
	}
	return c.rule.response(encoded())
}
