package cri

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	containers "github.com/containerd/containerd/api/services/containers/v1"
	content "github.com/containerd/containerd/api/services/content/v1"
	diff "github.com/containerd/containerd/api/services/diff/v1"
	events "github.com/containerd/containerd/api/services/events/v1"
	images "github.com/containerd/containerd/api/services/images/v1"
	introspection "github.com/containerd/containerd/api/services/introspection/v1"
	leases "github.com/containerd/containerd/api/services/leases/v1"
	namespaces "github.com/containerd/containerd/api/services/namespaces/v1"
	sandbox "github.com/containerd/containerd/api/services/sandbox/v1"
	snapshots "github.com/containerd/containerd/api/services/snapshots/v1"
	streaming "github.com/containerd/containerd/api/services/streaming/v1"
	tasks "github.com/containerd/containerd/api/services/tasks/v1"
	transfer "github.com/containerd/containerd/api/services/transfer/v1"
	version "github.com/containerd/containerd/api/services/version/v1"
	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podlapse/podlapse/pkg/cri/critest"
)

// TestOnlyTheTablePasses holds every method that CRI and containerd define against the table.
func TestOnlyTheTablePasses(t *testing.T) {
	want := []string{
		"/containerd.services.content.v1.Content/Info",
		"/containerd.services.content.v1.Content/ListStatuses",
		"/containerd.services.images.v1.Images/Get",
		"/containerd.services.sandbox.v1.Store/Get",
		"/containerd.services.snapshots.v1.Snapshots/Stat",
		"/runtime.v1.ImageService/ImageStatus",
		"/runtime.v1.RuntimeService/ContainerStatus",
		"/runtime.v1.RuntimeService/ListContainers",
		"/runtime.v1.RuntimeService/ListPodSandbox",
		"/runtime.v1.RuntimeService/Version",
	}
	if got := slices.Sorted(maps.Keys(allowed)); !slices.Equal(got, want) {
		t.Fatalf("the table has %q; whoever changes it must show that the call has no effect, and change this list", got)
	}
	wantStreams := []string{
		"/containerd.services.content.v1.Content/List",
		"/containerd.services.content.v1.Content/Read",
	}
	if got := slices.Sorted(maps.Keys(allowedStreams)); !slices.Equal(got, wantStreams) {
		t.Fatalf("the table of streams has %q; whoever changes it must show that they only read, and change this list", got)
	}
	known := 0
	for _, service := range []grpc.ServiceDesc{
		runtimeapi.RuntimeService_ServiceDesc, runtimeapi.ImageService_ServiceDesc,
		containers.Containers_ServiceDesc, content.Content_ServiceDesc, diff.Diff_ServiceDesc,
		events.Events_ServiceDesc, images.Images_ServiceDesc, introspection.Introspection_ServiceDesc,
		leases.Leases_ServiceDesc, namespaces.Namespaces_ServiceDesc, sandbox.Store_ServiceDesc,
		sandbox.Controller_ServiceDesc, snapshots.Snapshots_ServiceDesc, streaming.Streaming_ServiceDesc,
		tasks.Tasks_ServiceDesc, transfer.Transfer_ServiceDesc, version.Version_ServiceDesc,
	} {
		for _, method := range service.Methods {
			name := "/" + service.ServiceName + "/" + method.MethodName
			sent := false
			err := allowUnary(context.Background(), name, nil, nil, nil,
				func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
					sent = true
					return nil
				})
			pass := slices.Contains(want, name)
			if sent != pass || errors.Is(err, errRefused) == pass {
				t.Errorf("%s: sent %t, %v; want it to pass: %t", name, sent, err, pass)
			}
			if pass {
				known++
			}
		}
		for _, stream := range service.Streams {
			name := "/" + service.ServiceName + "/" + stream.StreamName
			opened := false
			_, err := allowStream(context.Background(), &stream, nil, name,
				func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
					opened = true
					return nil, nil
				})
			pass := slices.Contains(wantStreams, name)
			if opened != pass || errors.Is(err, errRefused) == pass {
				t.Errorf("stream %s: opened %t, %v; want it to pass: %t", name, opened, err, pass)
			}
			if pass {
				known++
			}
		}
	}
	if all := len(want) + len(wantStreams); known != all {
		t.Errorf("%d of %d methods of the tables exist", known, all)
	}
	for name := range allowedStreams { // whoever could send could write
		_, err := allowStream(context.Background(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, nil, name, nil)
		if !errors.Is(err, errRefused) {
			t.Errorf("stream %s from the client: %v, want it refused", name, err)
		}
	}
}

// TestConnectionRefuses shows that the connection really goes through the table.
func TestConnectionRefuses(t *testing.T) {
	fake := critest.Start(t, filepath.Join(t.TempDir(), "c.sock"), critest.Options{})
	c, err := dial(fake.Endpoint()[len("unix://"):], time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	ctx := t.Context()
	calls := map[string]func() error{
		"stop": func() error {
			_, err := c.runtime.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: "s"})
			return err
		},
		"exec": func() error {
			_, err := c.runtime.ExecSync(ctx, &runtimeapi.ExecSyncRequest{})
			return err
		},
		"events": func() error {
			_, err := c.runtime.GetContainerEvents(ctx, &runtimeapi.GetEventsRequest{})
			return err
		},
		"verbose container": func() error {
			_, err := c.runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: "c", Verbose: true})
			return err
		},
		"verbose image": func() error {
			_, err := c.image.ImageStatus(ctx, &runtimeapi.ImageStatusRequest{Verbose: true})
			return err
		},
		"write content": func() error {
			_, err := c.content.Write(ctx)
			return err
		},
		"delete content": func() error {
			_, err := c.content.Delete(ctx, &content.DeleteContentRequest{Digest: "d"})
			return err
		},
		"update content": func() error {
			_, err := c.content.Update(ctx, &content.UpdateRequest{})
			return err
		},
		"abort download": func() error {
			_, err := c.content.Abort(ctx, &content.AbortRequest{Ref: "r"})
			return err
		},
		"prepare snapshot": func() error {
			_, err := c.snapshots.Prepare(ctx, &snapshots.PrepareSnapshotRequest{Key: "k"})
			return err
		},
		"remove snapshot": func() error {
			_, err := c.snapshots.Remove(ctx, &snapshots.RemoveSnapshotRequest{Key: "k"})
			return err
		},
		"list snapshots": func() error {
			_, err := c.snapshots.List(ctx, &snapshots.ListSnapshotsRequest{})
			return err
		},
		"delete image": func() error {
			_, err := c.images.Delete(ctx, &images.DeleteImageRequest{Name: "i"})
			return err
		},
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, errRefused) {
			t.Errorf("%s: %v, want it refused", name, err)
		}
	}
	if got := fake.Calls(); len(got) != 0 {
		t.Errorf("the runtime saw %v", got)
	}
}
