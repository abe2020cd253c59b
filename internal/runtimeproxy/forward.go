package runtimeproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/podlapse/podlapse/pkg/cri"
)

// namespaceHeader selects one of containerd's namespaces. Kubernetes uses only containerd's namespace "k8s.io". The
// agent must not access other containerd namespaces, such as Docker's.
const (
	namespaceHeader     = "containerd-namespace"
	kubernetesNamespace = "k8s.io"
)

// codec passes messages without decoding them. gRPC sends the result of the method Name to the runtime as the encoding
// of the messages. So Name returns the name of gRPC's default codec.
type codec struct{}

// frame is one encoded message. The proxy forwards the buffers of a response and does not copy them. A frame can be
// sent only once, because gRPC frees the buffers after the send.
type frame struct{ data mem.BufferSlice }

// Marshal implements encoding.CodecV2.
func (codec) Marshal(v any) (mem.BufferSlice, error) { return v.(*frame).data, nil }

// Unmarshal implements encoding.CodecV2.
func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	data.Ref()
	v.(*frame).data = data
	return nil
}

// Name implements encoding.CodecV2.
func (codec) Name() string { return "proto" }

// forward handles every call.
func (p *Proxy) forward(_ any, client grpc.ServerStream) error {
	method, ok := grpc.MethodFromServerStream(client)
	if !ok {
		return status.Error(codes.Internal, "call without a method")
	}
	call, ok := cri.Allowed(method)
	if !ok {
		return p.refused.refuse(method, errors.New("the proxy forwards only the read-only calls that the agent needs"))
	}
	ctx, err := prepare(client.Context())
	if err != nil {
		return p.refused.refuse(method, err)
	}
	var message frame
	if err := client.RecvMsg(&message); err != nil {
		return err
	}
	if err := message.check(call); err != nil {
		return p.refused.refuse(method, err)
	}
	if err := p.calls.Acquire(ctx, 1); err != nil {
		return status.FromContextError(err).Err()
	}
	defer p.calls.Release(1)
	runtime, err := p.runtime.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method)
	if err != nil {
		return err
	}
	if err := send(runtime, &message); err != nil {
		return err
	}
	return p.forwardResponse(client, runtime, method, call)
}

// check replaces a request with its allowed part.
func (f *frame) check(call cri.Call) error {
	defer f.data.Free()
	checked, err := call.Request(f.data.Materialize())
	f.data = mem.BufferSlice{mem.SliceBuffer(checked)}
	return err
}

// prepare accepts only calls with a deadline of at most callLimit. At the deadline, gRPC ends the call to the client
// and the call to the runtime, even if the client reads no response. prepare forwards only one of the client's
// headers: the namespace.
func prepare(ctx context.Context) (context.Context, error) {
	if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > callLimit {
		return nil, fmt.Errorf("the call must have a deadline of at most %s", callLimit)
	}
	headers, _ := metadata.FromIncomingContext(ctx)
	switch values := headers.Get(namespaceHeader); {
	case len(values) == 0:
		return ctx, nil
	case len(values) == 1 && values[0] == kubernetesNamespace:
		return metadata.AppendToOutgoingContext(ctx, namespaceHeader, kubernetesNamespace), nil
	default:
		return nil, fmt.Errorf("the header %q must be %q", namespaceHeader, kubernetesNamespace)
	}
}

// send sends the request of a call to the runtime. Each call has exactly one request. send ignores io.EOF, because the
// status of the call contains the actual error.
func send(runtime grpc.ClientStream, request *frame) error {
	if err := runtime.SendMsg(request); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return runtime.CloseSend()
}

// forwardResponse forwards the runtime's messages to the client. forwardResponse returns after the last message, or
// when the runtime ends the call with an error.
func (p *Proxy) forwardResponse(
	client grpc.ServerStream, runtime grpc.ClientStream, method string, call cri.Call,
) error {
	for first := true; ; first = false {
		var message frame
		err := runtime.RecvMsg(&message)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if first {
			if err := call.Response(message.data.Materialize); err != nil {
				message.data.Free()
				return p.refused.refuse(method, err)
			}
		}
		if err := client.SendMsg(&message); err != nil {
			return err
		}
	}
}
