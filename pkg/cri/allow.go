package cri

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
)

// allowed is every unary method that may be called. All of them read, and none has a side effect in the
// runtime. A verbose answer is refused apart from this: it holds the container's environment.
var allowed = map[string]struct{}{
	"/runtime.v1.RuntimeService/Version":         {},
	"/runtime.v1.RuntimeService/Status":          {},
	"/runtime.v1.RuntimeService/ListPodSandbox":  {},
	"/runtime.v1.RuntimeService/ListContainers":  {},
	"/runtime.v1.RuntimeService/ContainerStatus": {},
	"/runtime.v1.ImageService/ImageStatus":       {},

	"/containerd.services.sandbox.v1.Store/Get":  {},
	"/containerd.services.images.v1.Images/Get":  {},
	"/containerd.services.images.v1.Images/List": {},

	"/containerd.services.content.v1.Content/Info":         {},
	"/containerd.services.content.v1.Content/ListStatuses": {},
	"/containerd.services.snapshots.v1.Snapshots/Stat":     {},
}

// allowedStreams is every stream that may be opened. In all of them the server alone sends, after one request.
var allowedStreams = map[string]struct{}{
	"/containerd.services.content.v1.Content/List": {},
	"/containerd.services.content.v1.Content/Read": {},
}

var errRefused = errors.New("refused by the agent: only calls that read are made")

// allowUnary is the only way for a unary call to the connection.
func allowUnary(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	if _, ok := allowed[method]; !ok {
		return fmt.Errorf("call %s: %w", method, errRefused)
	}
	if r, ok := request.(interface{ GetVerbose() bool }); ok && r.GetVerbose() {
		return fmt.Errorf("call %s with verbose: %w", method, errRefused)
	}
	return invoke(ctx, method, request, reply, conn, options...)
}

// allowStream is the only way for a stream to the connection.
func allowStream(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
	if _, ok := allowedStreams[method]; !ok || desc.ClientStreams {
		return nil, fmt.Errorf("stream %s: %w", method, errRefused)
	}
	return open(ctx, desc, conn, method, options...)
}
