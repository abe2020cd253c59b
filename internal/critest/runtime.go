// Package critest is a fake container runtime that runs no containers. The fake listens on a Unix socket. The fake
// responds to the read calls of CRI and of containerd's own stores. The responses contain the objects that a test adds.
// A test can make the fake slow or silent, or make the fake return wrong responses. Every method is safe for concurrent
// use.
package critest

import (
	"cmp"
	"context"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	containersapi "github.com/containerd/containerd/api/services/containers/v1"
	contentapi "github.com/containerd/containerd/api/services/content/v1"
	imagesapi "github.com/containerd/containerd/api/services/images/v1"
	sandboxapi "github.com/containerd/containerd/api/services/sandbox/v1"
	snapshotsapi "github.com/containerd/containerd/api/services/snapshots/v1"
	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Runtime is the fake runtime. The zero value is not usable. Start creates a Runtime.
type Runtime struct {
	path   string
	server *grpc.Server

	mu         sync.Mutex
	name       string
	version    string
	sandboxes  map[string]*runtimeapi.PodSandbox
	containers map[string]*runtimeapi.ContainerStatus
	owners     map[string]string // sandbox ID, by container ID
	images     map[string]*runtimeapi.Image
	stored     map[string]Stamps              // containerd's sandbox store
	records    map[string]Record              // containerd's container store
	pulled     map[string]Stored              // images in containerd's image store, by full name
	pinned     map[string]Stored              // pinned images in containerd's image store, by full name
	noNetwork  bool                           // true if the network is not ready
	sandboxer  string                         // component of containerd that created the sandboxes
	blobs      map[string]Blob                // blobs in containerd's content store, by digest
	ingests    map[string]Ingest              // blobs that containerd is writing, by reference
	snapshots  map[string]map[string]Snapshot // by snapshotter, then by name
	calls      map[string]int
	fault      func(ctx context.Context, method string) error
}

// SandboxImage is the only pinned image of a new Runtime. The timestamps of SandboxImage are in the distant past.
const SandboxImage = "registry.k8s.io/pause:3.10"

var longAgo = time.Unix(1_600_000_000, 0)

// SetNetworkReady sets whether the runtime's network is ready. Initially, the network is ready.
func (r *Runtime) SetNetworkReady(ready bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.noNetwork = !ready
}

// SetVersion changes the version that the runtime reports.
func (r *Runtime) SetVersion(version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.version = version
}

// PinImage adds a pinned image to containerd's image store.
func (r *Runtime) PinImage(name string, stored Stored) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pinned[name] = stored
}

// UnpinImage removes a pinned image.
func (r *Runtime) UnpinImage(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pinned, name)
}

// Stamps contains the fields created_at and updated_at in a containerd store.
type Stamps struct{ CreatedAt, UpdatedAt time.Time }

// Stored is an image in containerd's image store.
type Stored struct {
	Stamps
	Digest string
}

// Record is a container in containerd's container store.
type Record struct {
	Stamps
	Kind  string // the label io.cri-containerd.kind: sandbox or container
	Image string
	Spec  string // the OCI runtime specification, as JSON
}

// Options configures the runtime that the fake imitates.
type Options struct {
	Name     string // empty means `containerd`
	Version  string // empty means `v2.4.2`
	NoStores bool   // serve only CRI, without containerd's own stores
	// Sandboxer is the component of containerd that creates the sandboxes. Empty means "podsandbox".
	Sandboxer string
}

// StartProxy starts a proxy in front of the fake runtime. If StartProxy is nil, no proxy runs. Start calls StartProxy
// with the socket of the runtime and the path that the proxy must serve. If a test restarts the runtime, Start calls
// StartProxy again.
var StartProxy func(t testing.TB, socket, path string)

// Start starts a fake runtime that serves on a Unix socket at path. The runtime stops when the test ends or calls Stop.
// If a socket file exists, Start deletes it and creates a new file, like a restarted runtime.
func Start(t testing.TB, path string, options Options) *Runtime {
	t.Helper()
	r := &Runtime{
		path:       path,
		name:       cmp.Or(options.Name, "containerd"),
		version:    cmp.Or(options.Version, "v2.4.2"),
		sandboxes:  map[string]*runtimeapi.PodSandbox{},
		containers: map[string]*runtimeapi.ContainerStatus{},
		owners:     map[string]string{},
		images:     map[string]*runtimeapi.Image{},
		stored:     map[string]Stamps{},
		records:    map[string]Record{},
		pulled:     map[string]Stored{},
		pinned:     map[string]Stored{SandboxImage: {Stamps: Stamps{CreatedAt: longAgo, UpdatedAt: longAgo}}},
		sandboxer:  cmp.Or(options.Sandboxer, "podsandbox"),
		blobs:      map[string]Blob{},
		ingests:    map[string]Ingest{},
		snapshots:  map[string]map[string]Snapshot{},
		calls:      map[string]int{},
	}
	socket := path
	if StartProxy != nil {
		socket += ".r"
		StartProxy(t, socket, path)
	}
	_ = os.Remove(socket)
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatalf("listen for the fake runtime: %v", err)
	}
	r.server = grpc.NewServer(grpc.UnaryInterceptor(r.intercept), grpc.StreamInterceptor(r.interceptStream))
	runtimeapi.RegisterRuntimeServiceServer(r.server, runtimeService{r: r})
	runtimeapi.RegisterImageServiceServer(r.server, imageService{r: r})
	if !options.NoStores {
		sandboxapi.RegisterStoreServer(r.server, sandboxStore{r: r})
		containersapi.RegisterContainersServer(r.server, containerStore{r: r})
		imagesapi.RegisterImagesServer(r.server, imageStore{r: r})
		contentapi.RegisterContentServer(r.server, contentStore{r: r})
		snapshotsapi.RegisterSnapshotsServer(r.server, snapshotStore{r: r})
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = r.server.Serve(listener)
	}()
	t.Cleanup(func() {
		r.Stop()
		<-served
	})
	return r
}

// Stop breaks every connection, like a killed runtime, and removes the socket.
func (r *Runtime) Stop() {
	r.Fault(nil)
	r.server.Stop()
}

// Endpoint returns the value of the flag --cri-endpoint for this runtime.
func (r *Runtime) Endpoint() string { return "unix://" + r.path }

// Fault sets a function f that the fake runtime runs before it responds to each request. The function f can wait, or
// return an error for the request. If f is nil, the runtime responds normally again.
func (r *Runtime) Fault(f func(ctx context.Context, method string) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fault = f
}

// Hang is a function for Fault. With Hang, the runtime does not respond until the caller cancels the call.
func Hang(ctx context.Context, _ string) error {
	<-ctx.Done()
	return ctx.Err()
}

// Calls returns the number of calls of each method, by the method's full name.
func (r *Runtime) Calls() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.calls)
}

func (r *Runtime) intercept(
	ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler,
) (any, error) {
	if err := r.enter(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	return handle(ctx, request)
}

func (r *Runtime) interceptStream(
	server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler,
) error {
	if err := r.enter(stream.Context(), info.FullMethod); err != nil {
		return err
	}
	return handle(server, stream)
}

// enter counts a call and runs the function that the test passed to Fault.
func (r *Runtime) enter(ctx context.Context, method string) error {
	r.mu.Lock()
	r.calls[method]++
	fault := r.fault
	r.mu.Unlock()
	if fault == nil {
		return nil
	}
	return fault(ctx, method)
}

// sortedByKey returns the values of a map in the order of the keys, so that tests are repeatable. A real runtime can
// list its objects in any order.
func sortedByKey[V any](m map[string]V) []V {
	values := make([]V, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		values = append(values, m[key])
	}
	return values
}

func matches(labels, selector map[string]string) bool {
	for key, value := range selector {
		if labels[key] != value {
			return false
		}
	}
	return true
}
