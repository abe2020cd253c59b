package cri

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	containers "github.com/containerd/containerd/api/services/containers/v1"
	content "github.com/containerd/containerd/api/services/content/v1"
	diff "github.com/containerd/containerd/api/services/diff/v1"
	events "github.com/containerd/containerd/api/services/events/v1"
	images "github.com/containerd/containerd/api/services/images/v1"
	introspection "github.com/containerd/containerd/api/services/introspection/v1"
	leases "github.com/containerd/containerd/api/services/leases/v1"
	mounts "github.com/containerd/containerd/api/services/mounts/v1"
	namespaces "github.com/containerd/containerd/api/services/namespaces/v1"
	sandbox "github.com/containerd/containerd/api/services/sandbox/v1"
	snapshots "github.com/containerd/containerd/api/services/snapshots/v1"
	streaming "github.com/containerd/containerd/api/services/streaming/v1"
	tasks "github.com/containerd/containerd/api/services/tasks/v1"
	transfer "github.com/containerd/containerd/api/services/transfer/v1"
	version "github.com/containerd/containerd/api/services/version/v1"
	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podlapse/podlapse/internal/critest"
)

// definedServices returns every service that the APIs of CRI and containerd define on the socket.
func definedServices() []grpc.ServiceDesc {
	return []grpc.ServiceDesc{
		runtimeapi.RuntimeService_ServiceDesc, runtimeapi.ImageService_ServiceDesc,
		containers.Containers_ServiceDesc, content.Content_ServiceDesc, diff.Diff_ServiceDesc,
		events.Events_ServiceDesc, images.Images_ServiceDesc, introspection.Introspection_ServiceDesc,
		leases.Leases_ServiceDesc, mounts.Mounts_ServiceDesc, namespaces.Namespaces_ServiceDesc,
		sandbox.Store_ServiceDesc,
		sandbox.Controller_ServiceDesc, snapshots.Snapshots_ServiceDesc, streaming.Streaming_ServiceDesc,
		tasks.Tasks_ServiceDesc, transfer.Transfer_ServiceDesc, version.Version_ServiceDesc,
	}
}

// judgement is the expected decision about a method.
type judgement struct {
	word   string   // "called" or "refused"
	fields []string // fields that a request can set
}

// readMethods reads testdata/methods.txt.
func readMethods(t *testing.T) map[string]judgement {
	t.Helper()
	text, err := os.ReadFile("testdata/methods.txt")
	if err != nil {
		t.Fatal(err)
	}
	methods := map[string]judgement{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || strings.HasPrefix(line, "#"):
		case len(words) < 2 || words[0] != "called" && words[0] != "refused" || methods[words[1]].word != "",
			words[0] == "refused" && len(words) != 2:
			t.Fatalf("cannot read %q", line)
		default:
			methods[words[1]] = judgement{words[0], words[2:]}
		}
	}
	return methods
}

// TestEveryMethodIsAllowedOrRefused tries every method that CRI and containerd define. If a new version adds a
// method, this test fails until testdata/methods.txt lists the method. The code refuses the method until then.
func TestEveryMethodIsAllowedOrRefused(t *testing.T) {
	methods := readMethods(t)
	try := func(name string, passed bool, err error) {
		judgement := methods[name].word
		delete(methods, name)
		switch {
		case judgement == "":
			t.Errorf("testdata/methods.txt lacks %s: add it as refused, unless it only reads and the "+
				"agent needs it", name)
		case passed != (judgement == "called") || errors.Is(err, errRefused) == passed:
			t.Errorf("%s: passed %t, %v; testdata/methods.txt has %s", name, passed, err, judgement)
		}
	}
	for _, service := range definedServices() {
		for _, method := range service.Methods {
			name, sent := "/"+service.ServiceName+"/"+method.MethodName, false
			err := allowUnary(t.Context(), name, critest.Requests()[name], nil, nil,
				func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
					sent = true
					return nil
				})
			try(name, sent, err)
		}
		for _, stream := range service.Streams {
			name, opened := "/"+service.ServiceName+"/"+stream.StreamName, false
			open := func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string,
				...grpc.CallOption) (grpc.ClientStream, error) {
				opened = true
				return nil, io.EOF
			}
			allowed, err := allowStream(t.Context(), &stream, nil, name, open)
			if err == nil {
				if err = allowed.SendMsg(critest.Requests()[name]); err == io.EOF {
					err = nil // the stream was opened
				}
			}
			try(name, opened, err)
			if stream.ClientStreams && opened {
				t.Errorf("stream %s: the client can send, so it can write", name)
			}
			// A call of a stream as a unary method must not bypass the table.
			if err := allowUnary(t.Context(), name, nil, nil, nil, nil); !errors.Is(err, errRefused) {
				t.Errorf("stream %s called as a unary method: %v", name, err)
			}
		}
	}
	for name := range methods {
		t.Errorf("testdata/methods.txt has %s, which does not exist", name)
	}
	for name := range allowedStreams {
		_, err := allowStream(t.Context(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, nil, name, nil)
		if !errors.Is(err, errRefused) {
			t.Errorf("stream %s from the client: %v, want an error", name, err)
		}
	}
}

// TestAllowedMethodsExist checks that the tables contain only names that TestEveryMethodIsAllowedOrRefused
// tries.
func TestAllowedMethodsExist(t *testing.T) {
	methods := readMethods(t)
	for _, table := range []map[string]rule{allowedMethods, allowedStreams} {
		for name := range table {
			if methods[name].word != "called" {
				t.Errorf("%s is allowed but testdata/methods.txt has %q", name, methods[name].word)
			}
		}
	}
}

// TestConnectionRefuses checks that connections use the tables.
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
			_, err := c.runtime.ContainerStatus(ctx,
				&runtimeapi.ContainerStatusRequest{ContainerId: "c", Verbose: true})
			return err
		},
		"verbose image": func() error {
			_, err := c.image.ImageStatus(ctx, &runtimeapi.ImageStatusRequest{Verbose: true})
			return err
		},
		"a layer's first bytes with other arguments": func() error {
			_, err := c.content.Read(ctx, &content.ReadContentRequest{Digest: "d", Offset: 1, Size: 1})
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
			t.Errorf("%s: %v, want an error", name, err)
		}
	}
	if got := fake.Calls(); len(got) != 0 {
		t.Errorf("the runtime received %v", got)
	}
}
