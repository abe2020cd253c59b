package runtimeproxy

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	containers "github.com/containerd/containerd/api/services/containers/v1"
	contentapi "github.com/containerd/containerd/api/services/content/v1"
	diff "github.com/containerd/containerd/api/services/diff/v1"
	events "github.com/containerd/containerd/api/services/events/v1"
	imagesapi "github.com/containerd/containerd/api/services/images/v1"
	introspection "github.com/containerd/containerd/api/services/introspection/v1"
	leases "github.com/containerd/containerd/api/services/leases/v1"
	mounts "github.com/containerd/containerd/api/services/mounts/v1"
	namespaces "github.com/containerd/containerd/api/services/namespaces/v1"
	sandboxapi "github.com/containerd/containerd/api/services/sandbox/v1"
	snapshotsapi "github.com/containerd/containerd/api/services/snapshots/v1"
	streaming "github.com/containerd/containerd/api/services/streaming/v1"
	tasks "github.com/containerd/containerd/api/services/tasks/v1"
	transfer "github.com/containerd/containerd/api/services/transfer/v1"
	version "github.com/containerd/containerd/api/services/version/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podlapse/podlapse/internal/critest"
)

// methods returns the methods that the APIs of CRI and containerd define, by their full names.
func methods() map[string]protoreflect.MethodDescriptor {
	all := map[string]protoreflect.MethodDescriptor{}
	for _, file := range []protoreflect.FileDescriptor{
		(&runtimeapi.VersionRequest{}).ProtoReflect().Descriptor().ParentFile(),
		containers.File_services_containers_v1_containers_proto, contentapi.File_services_content_v1_content_proto,
		diff.File_services_diff_v1_diff_proto, events.File_services_events_v1_events_proto,
		imagesapi.File_services_images_v1_images_proto,
		introspection.File_services_introspection_v1_introspection_proto,
		leases.File_services_leases_v1_leases_proto, mounts.File_services_mounts_v1_mounts_proto,
		namespaces.File_services_namespaces_v1_namespace_proto, sandboxapi.File_services_sandbox_v1_sandbox_proto,
		snapshotsapi.File_services_snapshots_v1_snapshots_proto, streaming.File_services_streaming_v1_streaming_proto,
		tasks.File_services_tasks_v1_tasks_proto, transfer.File_services_transfer_v1_transfer_proto,
		version.File_services_version_v1_version_proto,
	} {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				method := service.Methods().Get(j)
				all[fmt.Sprintf("/%s/%s", service.FullName(), method.Name())] = method
			}
		}
	}
	return all
}

// responseOf returns an empty response of a method.
func responseOf(method string) proto.Message {
	return dynamicpb.NewMessage(methods()[method].Output())
}

// TestOtherMethodsAreRefused calls every method that CRI and containerd define, and some unknown methods.
func TestOtherMethodsAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.sock")
	runtime := startRuntime(t, path)
	proxy := serve(t, path)
	conn := connect(t, proxy.path)
	all := methods()
	forwarded := critest.Requests()
	refused := 0
	try := func(name string, request proto.Message) {
		refused++
		_, err := call(t.Context(), conn, name, request)
		if status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want an error with its name", name, err)
		}
	}
	for name, method := range all {
		if forwarded[name] == nil {
			try(name, dynamicpb.NewMessage(method.Input()))
		}
	}
	if len(all) < 100 || refused != len(all)-len(forwarded) {
		t.Errorf("tried %d of %d methods, %d are forwarded", refused, len(all), len(forwarded))
	}
	for _, name := range []string{
		"/runtime.v1.RuntimeService/version", "/runtime.v1.RuntimeService/Version/",
		"//runtime.v1.RuntimeService/Version",
		"/runtime.v1alpha2.RuntimeService/Version", "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
		"/grpc.health.v1.Health/Check", "/x/y",
	} {
		try(name, &runtimeapi.VersionRequest{})
	}
	if calls := runtime.Calls(); len(calls) != 0 {
		t.Errorf("the runtime received %v", calls)
	}
	if logged := len(proxy.logs.FilterMessageSnippet("refused").All()); logged != refused {
		t.Errorf("%d of %d refusals are in the log", logged, refused)
	}
}

// The proxy refuses arguments that the agent does not need, even for allowed methods.
func TestArgumentsAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.sock")
	runtime := startRuntime(t, path)
	proxy := serve(t, path)
	conn := connect(t, proxy.path)
	for method, requests := range map[string][]proto.Message{
		"/runtime.v1.RuntimeService/Status": {&runtimeapi.StatusRequest{Verbose: true}},
		"/runtime.v1.RuntimeService/ContainerStatus": {&runtimeapi.ContainerStatusRequest{ContainerId: "c",
			Verbose: true}},
		"/runtime.v1.RuntimeService/ListContainers": {&runtimeapi.ListContainersRequest{},
			&runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{Id: "c"}}},
		"/runtime.v1.RuntimeService/ListPodSandbox": {&runtimeapi.ListPodSandboxRequest{}},
		"/runtime.v1.ImageService/ImageStatus":      {&runtimeapi.ImageStatusRequest{Verbose: true}},
		"/containerd.services.content.v1.Content/Read": {
			&contentapi.ReadContentRequest{Digest: critest.RequestedBlob},
			&contentapi.ReadContentRequest{Digest: critest.RequestedBlob, Size: 1 << 30},
			&contentapi.ReadContentRequest{Digest: critest.RequestedBlob, Offset: 1, Size: 1}},
		"/containerd.services.images.v1.Images/List": {&imagesapi.ListImagesRequest{}},
		"/containerd.services.content.v1.Content/ListStatuses": {
			&contentapi.ListStatusesRequest{Filters: []string{"x"}}},
	} {
		for _, request := range requests {
			if _, err := call(t.Context(), conn, method, request); status.Code(err) != codes.PermissionDenied {
				t.Errorf("%s %v: %v, want it refused", method, request, err)
			}
		}
	}
	if calls := runtime.Calls(); len(calls) != 0 {
		t.Errorf("the runtime received %v", calls)
	}
	layer := runtime.PutBlob(critest.Blob{Data: []byte("\x1f\x8b files of another tenant")})
	response, err := call(
		t.Context(),
		conn,
		"/containerd.services.content.v1.Content/Read",
		&contentapi.ReadContentRequest{Digest: layer, Size: 4 << 20},
	)
	if status.Code(err) != codes.PermissionDenied || len(response) != 0 {
		t.Errorf("a layer: %q, %v", response, err)
	}
}

// The proxy forwards only one header: the containerd namespace of Kubernetes.
func TestHeadersAreNotForwarded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.sock")
	runtime := startRuntime(t, path)
	conn := connect(t, serve(t, path).path)
	var headers metadata.MD
	runtime.Fault(func(ctx context.Context, _ string) error {
		headers, _ = metadata.FromIncomingContext(ctx)
		return nil
	})
	const method = "/containerd.services.images.v1.Images/Get"
	try := func(pairs ...string) error {
		ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), pairs...), patience)
		defer cancel()
		_, err := callWithin(ctx, conn, method, critest.Requests()[method])
		return err
	}
	if err := try(namespaceHeader, kubernetesNamespace, "containerd-lease", "l", "x-secret", "s"); err != nil {
		t.Fatal(err)
	}
	for name := range headers {
		allowed := []string{":authority", "content-type", "user-agent", namespaceHeader, "grpc-accept-encoding"}
		if !slices.Contains(allowed, name) {
			t.Errorf("the runtime received the header %s", name)
		}
	}
	for _, pairs := range [][]string{{namespaceHeader, "moby"}, {namespaceHeader, ""},
		{namespaceHeader, kubernetesNamespace, namespaceHeader, "moby"}} {
		if err := try(pairs...); status.Code(err) != codes.PermissionDenied {
			t.Errorf("%q: %v", pairs, err)
		}
	}
	if err := try(); status.Code(err) != codes.FailedPrecondition { // the error comes from containerd
		t.Errorf("without a namespace: %v", err)
	}
}

// The proxy refuses messages that are too large or endless.
func TestMessageLimits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.sock")
	runtime := startRuntime(t, path)
	conn := connect(t, serve(t, path).path)
	long := &runtimeapi.ContainerStatusRequest{ContainerId: strings.Repeat("c", maxRequest)}
	_, err := call(t.Context(), conn, "/runtime.v1.RuntimeService/ContainerStatus", long)
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a request of more than %d bytes: %v", maxRequest, err)
	}
	for _, limit := range []time.Duration{0, callLimit + time.Minute} {
		ctx := t.Context()
		if limit > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, limit)
			defer cancel()
		}
		_, err := callWithin(ctx, conn, "/runtime.v1.RuntimeService/Version", &runtimeapi.VersionRequest{})
		if status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "deadline") {
			t.Errorf("a deadline of %s: %v", limit, err)
		}
	}
	if calls := runtime.Calls(); len(calls) != 0 {
		t.Errorf("the runtime received %v", calls)
	}
	for size, want := range map[int]codes.Code{maxResponse - 1<<10: codes.OK,
		maxResponse + 1: codes.ResourceExhausted} {
		runtime.PutImage(critest.RequestedImage, 1, strings.Repeat("d", size))
		method := "/runtime.v1.ImageService/ImageStatus"
		if _, err := call(t.Context(), conn, method, critest.Requests()[method]); status.Code(err) != want {
			t.Errorf("a response of %d bytes: %v, want %s", size, err, want)
		}
	}
}

// The proxy logs one message for each method, and a total at the end. The proxy remembers only a limited number of
// method names, because clients can invent names.
func TestRefusalsAreCounted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.sock")
	proxy := serve(t, path)
	conn := connect(t, proxy.path)
	for i := range maxRefusedMethods + 50 {
		for range 2 {
			_, _ = call(
				t.Context(),
				conn,
				fmt.Sprintf("/made.up/%d%s", i, strings.Repeat("x", 500)),
				&runtimeapi.VersionRequest{},
			)
		}
	}
	if logged := proxy.logs.FilterMessageSnippet("refused").Len(); logged != maxRefusedMethods+1 {
		t.Errorf("%d messages, want %d", logged, maxRefusedMethods+1)
	}
	_ = conn.Close()
	proxy.end(t)
	last := proxy.logs.All()[proxy.logs.Len()-1].ContextMap()
	if methods := last["calls"].(map[string]uint64); len(methods) != maxRefusedMethods ||
		last["others"] != uint64(100) {
		t.Errorf("the total has %d methods and %v others", len(methods), last["others"])
	} else {
		for name, n := range methods {
			if n != 2 || len(name) > maxMethodName {
				t.Errorf("%d of %s", n, name)
			}
		}
	}
}
