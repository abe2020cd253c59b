package cri

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
)

// allowed is every method that may be called. All of them read, and none has a side effect in the
// runtime. A verbose answer is refused apart from this: it holds the container's environment.
var allowed = map[string]struct{}{
	"/runtime.v1.RuntimeService/Version":         {},
	"/runtime.v1.RuntimeService/ListPodSandbox":  {},
	"/runtime.v1.RuntimeService/ListContainers":  {},
	"/runtime.v1.RuntimeService/ContainerStatus": {},
	"/runtime.v1.ImageService/ImageStatus":       {},

	"/containerd.services.sandbox.v1.Store/Get": {},
	"/containerd.services.images.v1.Images/Get": {},
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

// allowStream refuses every stream: no method of the table is one.
func allowStream(_ context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, method string, _ grpc.Streamer, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, fmt.Errorf("stream %s: %w", method, errRefused)
}
