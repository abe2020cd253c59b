package synthetic

import (
	"testing"
	"time"

	sandboxapi "github.com/containerd/containerd/api/services/sandbox/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func TestContainerdSandboxStore(t *testing.T) {
	for name, runtime := range map[string]*Runtime{"containerd": NewContainerd(), "podlapse-lab": NewRuntime()} {
		connection := serve(t, runtime)
		version, err := runtimeapi.NewRuntimeServiceClient(connection).Version(t.Context(),
			&runtimeapi.VersionRequest{})
		if err != nil || version.RuntimeName != name {
			t.Errorf("got %v, %v, want %s", version, err, name)
		}
		begunAt := time.Unix(1000, 1).UTC()
		stamps := sandboxStamps{begunAt: begunAt, runningAt: begunAt.Add(time.Second)}
		runtime.addSandbox(example(), stamps, begunAt.Add(500*time.Millisecond))
		store := sandboxapi.NewStoreClient(connection)
		got, err := store.Get(t.Context(), &sandboxapi.StoreGetRequest{SandboxID: "sandbox-u"})
		if !runtime.stores {
			if status.Code(err) != codes.Unimplemented {
				t.Errorf("%s: the store returns %v, %v, want Unimplemented", name, got, err)
			}
			continue
		}
		if err != nil || !got.Sandbox.CreatedAt.AsTime().Equal(stamps.begunAt) ||
			!got.Sandbox.UpdatedAt.AsTime().Equal(stamps.runningAt) {
			t.Errorf("got %v, %v", got, err)
		}
		if _, err := store.Get(t.Context(), &sandboxapi.StoreGetRequest{SandboxID: "x"}); status.Code(
			err) != codes.NotFound {
			t.Errorf("error %v", err)
		}
	}
}
