package runtimeproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	contentapi "github.com/containerd/containerd/api/services/content/v1"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podlapse/podlapse/internal/critest"
)

const patience = time.Minute

// served is a running proxy.
type served struct {
	path string
	logs *observer.ObservedLogs
	stop context.CancelFunc
	done chan error // capacity 1
}

// serve runs a proxy for the runtime at a path until the test ends.
func serve(t testing.TB, runtime string) *served {
	t.Helper()
	return serveAt(t, runtime, filepath.Join(t.TempDir(), "p.sock"))
}

func serveAt(t testing.TB, runtime, path string) *served {
	t.Helper()
	core, logs := observer.New(zapcore.InfoLevel)
	proxy, err := Listen(Config{Runtime: runtime, Listen: path, Logger: zap.New(core)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &served{path: path, logs: logs, stop: stop, done: make(chan error, 1)}
	go func() { s.done <- proxy.Run(ctx) }()
	t.Cleanup(func() { s.end(t) })
	return s
}

// end stops the proxy. Run returns when all clients have disconnected.
func (s *served) end(t testing.TB) {
	t.Helper()
	s.stop()
	select {
	case err := <-s.done:
		if err != nil {
			t.Errorf("Run: %v", err)
		}
		s.done <- nil
	case <-time.After(patience):
		t.Error("Run did not return")
	}
}

// connect creates a client without limits and without the agent's own restrictions.
func connect(t testing.TB, path string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("unix://"+path, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// startRuntime starts a fake runtime with content for every request of critest.Requests.
func startRuntime(t testing.TB, path string) *critest.Runtime {
	t.Helper()
	runtime := critest.Start(t, path, critest.Options{})
	at := time.Unix(1_700_000_000, 5)
	runtime.PutSandbox(critest.Sandbox{ID: "s", PodUID: critest.RequestedPod, CreatedAt: at})
	runtime.PutContainer(
		critest.Container{ID: "c", SandboxID: "s", PodUID: critest.RequestedPod, Name: "main", CreatedAt: at},
	)
	runtime.PutImage(critest.RequestedImage, 7)
	runtime.StoreSandbox("s", critest.Stamps{CreatedAt: at, UpdatedAt: at})
	runtime.StoreContainer(critest.RequestedSandbox,
		critest.Record{Stamps: critest.Stamps{CreatedAt: at, UpdatedAt: at}, Kind: "sandbox"})
	runtime.StoreImage(critest.RequestedImage, critest.Stored{Stamps: critest.Stamps{CreatedAt: at, UpdatedAt: at}})
	runtime.PutBlob(
		critest.Blob{
			Digest:    critest.RequestedBlob,
			CreatedAt: at,
			Data:      []byte(`{"a": "` + strings.Repeat("x", 100<<10) + `"}`),
			Labels:    map[string]string{"containerd.io/gc.ref.content.config": "sha256:1"},
		},
	)
	for i := range 250 { // three pages
		runtime.PutBlob(critest.Blob{Data: fmt.Append(nil, i), CreatedAt: at,
			Labels: map[string]string{"containerd.io/gc.ref.content.l.0": "sha256:2"}})
	}
	runtime.PutIngest(
		critest.Ingest{Ref: "layer-" + critest.RequestedBlob, Offset: 1, Total: 2, StartedAt: at, UpdatedAt: at},
	)
	runtime.PutSnapshot(critest.Snapshot{Name: "layer", CreatedAt: at})
	return runtime
}

// call calls any method, and returns the messages of the response.
func call(
	ctx context.Context,
	conn *grpc.ClientConn,
	method string,
	request proto.Message,
) (response [][]byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, namespaceHeader, kubernetesNamespace)
	return callWithin(ctx, conn, method, request)
}

func callWithin(
	ctx context.Context,
	conn *grpc.ClientConn,
	method string,
	request proto.Message,
) (response [][]byte, err error) {
	data, err := proto.Marshal(request)
	if err != nil {
		return nil, err
	}
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method, grpc.ForceCodecV2(codec{}))
	if err != nil {
		return nil, err
	}
	if err := stream.SendMsg(&frame{mem.BufferSlice{mem.SliceBuffer(data)}}); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := stream.CloseSend(); err != nil {
		return nil, err
	}
	for {
		var message frame
		if err := stream.RecvMsg(&message); errors.Is(err, io.EOF) {
			return response, nil
		} else if err != nil {
			return response, err
		}
		response = append(response, message.data.MaterializeToBuffer(mem.NopBufferPool{}).ReadOnlyData())
	}
}

// TestResponsesAreUnchanged sends every allowed request, once directly and once through the proxy.
func TestResponsesAreUnchanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.sock")
	startRuntime(t, path)
	direct, through := connect(t, path), connect(t, serve(t, path).path)
	parts := 0
	for method, request := range critest.Requests() {
		want, err := call(t.Context(), direct, method, request)
		if err != nil || len(want) == 0 ||
			method != "/containerd.services.content.v1.Content/ListStatuses" && len(want[0]) == 0 {
			t.Fatalf("%s: the runtime itself responds with %d messages, %v", method, len(want), err)
		}
		got, err := call(t.Context(), through, method, request)
		if err != nil || !sameMessages(t, method, got, want) {
			t.Errorf("%s: %d messages, %v; want %d", method, len(got), err, len(want))
		}
		parts = max(parts, len(want))
	}
	if parts < 3 {
		t.Errorf("the longest response has %d messages", parts)
	}
}

// sameMessages decodes the messages before the comparison, because the order of encoded map keys is not fixed.
func sameMessages(t *testing.T, method string, got, want [][]byte) bool {
	t.Helper()
	if len(got) != len(want) {
		return false
	}
	for i := range want {
		a, b := responseOf(method), responseOf(method)
		if err := errors.Join(proto.Unmarshal(got[i], a), proto.Unmarshal(want[i], b)); err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(a, b) {
			return false
		}
	}
	return true
}

func TestErrorsAreUnchanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.sock")
	runtime := startRuntime(t, path)
	conn := connect(t, serve(t, path).path)
	detailed, err := status.New(codes.NotFound, "no such container").
		WithDetails(&runtimeapi.VersionRequest{Version: "v"})
	if err != nil {
		t.Fatal(err)
	}
	for method, request := range critest.Requests() {
		for _, want := range []*status.Status{
			detailed, status.New(codes.Unimplemented, "unknown service"), status.New(codes.Internal, "disk full"),
		} {
			runtime.Fault(func(context.Context, string) error { return want.Err() })
			_, err := call(t.Context(), conn, method, request)
			if got := status.Convert(err); !proto.Equal(got.Proto(), want.Proto()) {
				t.Errorf("%s: %v, want %v", method, got.Proto(), want.Proto())
			}
		}
	}
}

// While the runtime is down, a call fails at once, as without a proxy. Soon after the restart of the runtime, calls
// succeed.
func TestRuntimeRestarts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.sock")
	client := runtimeapi.NewRuntimeServiceClient(connect(t, serve(t, path).path))
	version := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, err := client.Version(ctx, &runtimeapi.VersionRequest{})
		return err
	}
	for round := range 3 {
		begun := time.Now()
		// The first call after the runtime's stop can still use the old connection.
		for err := version(); err == nil || !strings.Contains(err.Error(), path); err = version() {
			if status.Code(err) != codes.Unavailable || time.Since(begun) > patience/2 {
				t.Fatalf("round %d: without the runtime, after %s: %v", round, time.Since(begun), err)
			}
		}
		if took := time.Since(begun); took > patience/2 {
			t.Errorf("round %d: a call without the runtime failed only after %s", round, took)
		}
		runtime := critest.Start(t, path, critest.Options{})
		begun = time.Now()
		for err := version(); err != nil; err = version() {
			if status.Code(err) != codes.Unavailable || time.Since(begun) > patience {
				t.Fatalf("round %d: after the restart, after %s: %v", round, time.Since(begun), err)
			}
			time.Sleep(10 * time.Millisecond) // a real socket needs real time
		}
		runtime.Stop()
	}
}

// At the client's deadline, the call in the runtime ends too.
func TestSlowRuntime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.sock")
	runtime := startRuntime(t, path)
	conn := connect(t, serve(t, path).path)
	ended := make(chan struct{}, 1)
	runtime.Fault(func(ctx context.Context, _ string) error {
		<-ctx.Done()
		ended <- struct{}{}
		return ctx.Err()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := callWithin(ctx, conn, "/runtime.v1.RuntimeService/Version", &runtimeapi.VersionRequest{})
	if status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("a call after its deadline: %v", err)
	}
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("the runtime continues a call that its client canceled")
	}
}

// TestManyClients runs 100 concurrent clients. All clients get responses, and the runtime receives only a few calls
// at the same time.
func TestManyClients(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.sock")
	runtime := startRuntime(t, path)
	proxy := serve(t, path)
	var mu sync.Mutex
	now, most := 0, 0
	runtime.Fault(func(context.Context, string) error {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		time.Sleep(time.Millisecond)
		mu.Lock()
		now--
		mu.Unlock()
		return nil
	})
	var clients sync.WaitGroup
	for range 100 {
		conn := connect(t, proxy.path)
		clients.Go(func() {
			for method, request := range critest.Requests() {
				if got, err := call(t.Context(), conn, method, request); err != nil || len(got) == 0 {
					t.Errorf("%s: %d messages, %v", method, len(got), err)
				}
			}
		})
	}
	clients.Wait()
	if most > maxCalls || most < 2 {
		t.Errorf("%d calls at once, want 2 to %d", most, maxCalls)
	}
}

// A client that does not read its response occupies a slot only until the client's deadline.
func TestStalledClients(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.sock")
	runtime := startRuntime(t, path)
	large := runtime.PutBlob(critest.Blob{Data: []byte("{" + strings.Repeat(" ", 2<<20))})
	proxy := serve(t, path)
	ctx, cancel := context.WithTimeout(
		metadata.AppendToOutgoingContext(t.Context(), namespaceHeader, kubernetesNamespace),
		2*time.Second,
	)
	defer cancel()
	stalled := contentapi.NewContentClient(connect(t, proxy.path))
	for range 2 * maxCalls {
		if _, err := stalled.Read(ctx, &contentapi.ReadContentRequest{Digest: large, Size: 4 << 20}); err != nil {
			t.Fatal(err)
		}
	}
	request := critest.Requests()["/runtime.v1.RuntimeService/Version"]
	if _, err := call(t.Context(), connect(t, proxy.path), "/runtime.v1.RuntimeService/Version", request); err != nil {
		t.Errorf("alongside clients that do not read: %v", err)
	}
}
