package synthetic

import (
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func example() pod {
	return pod{namespace: "ns", name: "pod-1", uid: "u", node: "node-2", images: []string{"r/a:1", "r/b:1"}}
}

func TestEventNameMatchesKubelet(t *testing.T) {
	at := time.Unix(1_700_000_000, 123_456_789)
	event := example().event("c1", "Pulled", "words", at)
	if event.Name != "pod-1.17979cfe3d85cd15" || event.InvolvedObject.FieldPath != "spec.containers{c1}" ||
		event.Source.Component != "kubelet" || event.Source.Host != "node-2" || event.InvolvedObject.UID != "u" ||
		event.Count != 1 {
		t.Errorf("got %+v", event)
	}
}

// serve serves a runtime until the test ends, and returns a connection to this runtime.
func serve(t *testing.T, r *Runtime) *grpc.ClientConn {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	stop, err := r.Serve(socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}

func TestRuntimeListsOnePod(t *testing.T) {
	r := NewRuntime()
	connection := serve(t, r)
	client, images := runtimeapi.NewRuntimeServiceClient(connection), runtimeapi.NewImageServiceClient(connection)
	p := example()
	createdAt := time.Unix(0, 1000)
	r.addSandbox(p, sandboxStamps{}, createdAt)
	id := r.addContainer(p, "c1", "r/a:1", createdAt, createdAt.Add(5))
	r.AddImage("r/a:1")

	for uid, want := range map[string]int{"u": 1, "other": 0} {
		selector := map[string]string{uidLabel: uid}
		sandboxes, err := client.ListPodSandbox(t.Context(),
			&runtimeapi.ListPodSandboxRequest{Filter: &runtimeapi.PodSandboxFilter{LabelSelector: selector}})
		if err != nil || len(sandboxes.Items) != want {
			t.Errorf("%s: %v, %v", uid, sandboxes, err)
		}
		containers, err := client.ListContainers(t.Context(),
			&runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{LabelSelector: selector}})
		if err != nil || len(containers.Containers) != want {
			t.Errorf("%s: %v, %v", uid, containers, err)
		}
	}
	state, err := client.ContainerStatus(t.Context(), &runtimeapi.ContainerStatusRequest{ContainerId: id})
	if err != nil || state.Status.StartedAt != 1005 {
		t.Errorf("got %v, %v", state, err)
	}
	if _, err := client.ContainerStatus(t.Context(),
		&runtimeapi.ContainerStatusRequest{ContainerId: "x"}); status.Code(err) != codes.NotFound {
		t.Errorf("error %v", err)
	}
	for reference, want := range map[string]bool{"r/a:1": true, "r/b:1": false} {
		response, err := images.ImageStatus(t.Context(),
			&runtimeapi.ImageStatusRequest{Image: &runtimeapi.ImageSpec{Image: reference}})
		if err != nil || (response.Image != nil) != want {
			t.Errorf("%s: %v, %v", reference, response, err)
		}
	}
	if _, err := images.PullImage(t.Context(),
		&runtimeapi.PullImageRequest{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("PullImage returns %v, want Unimplemented", err)
	}
}
