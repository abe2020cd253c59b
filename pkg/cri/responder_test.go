package cri

import (
	"context"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/containerd/platforms"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/utils/lru"

	"github.com/podlapse/podlapse/internal/critest"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// second returns the instant at a second of the test. The pod's sandbox started at second 1.
func second(s float64) time.Time {
	return time.Unix(1_700_000_000, 0).Add(time.Duration(s * float64(time.Second))).UTC()
}

// newResponder connects to a fake runtime in the same way as a session.
func newResponder(t *testing.T, fake *critest.Runtime) (*responder, *observer.ObservedLogs) {
	t.Helper()
	c, err := dial(fake.Endpoint()[len("unix://"):], time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	version, err := c.version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	core, logs := observer.New(zap.InfoLevel)
	l := &responder{
		client: c, stores: storesOf(version, zap.New(core)),
		stamps: lru.New(8), statuses: lru.New(8),
		now: func() time.Time { return second(99) },
	}
	l.catalog = catalog{readBlob: l.readBlob, machine: platforms.Default(), known: lru.New(8)}
	return l, logs
}

func response(t *testing.T, l *responder, images ...string) timeline.RuntimeSeen {
	t.Helper()
	seen, err := l.respond(t.Context(), timeline.RuntimeRequest{UID: "pod", RuntimeUID: "runtime-pod", Images: images})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

func TestResponse(t *testing.T) {
	fake := critest.Start(t, filepath.Join(t.TempDir(), "c.sock"), critest.Options{})
	fake.PutSandbox(critest.Sandbox{ID: "s1", PodUID: "runtime-pod", Attempt: 1, CreatedAt: second(3)})
	fake.PutSandbox(critest.Sandbox{ID: "other", PodUID: "other", CreatedAt: second(1)})
	fake.StoreSandbox("s1", critest.Stamps{CreatedAt: second(1), UpdatedAt: second(3.5)})
	fake.PutContainer(critest.Container{ID: "c2", SandboxID: "s1", PodUID: "runtime-pod", Name: "app", Restarts: 2,
		CreatedAt: second(9), StartedAt: second(10)})
	fake.PutContainer(critest.Container{ID: "c3", SandboxID: "s1", PodUID: "runtime-pod", Name: "init",
		CreatedAt: second(4), StartedAt: second(5), FinishedAt: second(6), ExitCode: 1})
	fake.PutContainer(critest.Container{ID: "x", SandboxID: "other", PodUID: "other", Name: "app",
		CreatedAt: second(1)})
	fake.PutImage("app", 20)
	fake.StoreImage("docker.io/library/app:latest",
		critest.Stored{Stamps: critest.Stamps{CreatedAt: second(-9), UpdatedAt: second(8)}, Digest: "sha256:aa"})
	l, _ := newResponder(t, fake)

	got := response(t, l, "app", "absent:1", "Not A Ref")
	want := timeline.RuntimeSeen{
		UID: "pod", QueriedAt: second(99), ArrivedAt: second(99), NetworkFirst: true,
		Sandboxes: []timeline.Sandbox{{ID: "s1", Attempt: 1, Ready: true, BegunAt: second(1), NetworkReadyAt: second(3),
			RunningAt: second(3.5), ImageKnown: true}},
		Containers: []timeline.ContainerRun{
			{Name: "init", ID: "c3", CreatedAt: second(4), StartedAt: second(5), FinishedAt: second(6), ExitCode: 1},
			{Name: "app", ID: "c2", Attempt: 2, CreatedAt: second(9), StartedAt: second(10)},
		},
		Images: []timeline.Image{
			{Ref: "app", Present: true, FirstPulledAt: second(-9), PulledAt: second(8), SizeBytes: 20,
				Digest: "sha256:aa"},
			{Ref: "absent:1"}, {Ref: "Not A Ref"},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}

	// The responder must not query immutable facts again.
	before := fake.Calls()
	again := response(t, l)
	after := fake.Calls()
	if !reflect.DeepEqual(again.Containers, want.Containers) {
		t.Errorf("the second time %+v\nwant %+v", again.Containers, want.Containers)
	}
	n := after["/runtime.v1.RuntimeService/ContainerStatus"] - before["/runtime.v1.RuntimeService/ContainerStatus"]
	if n != 0 {
		t.Errorf("the second query read %d container statuses", n)
	}
	const get = "/containerd.services.sandbox.v1.Store/Get"
	if n := after[get] - before[get]; n != 0 {
		t.Errorf("the second query read %d sandboxes from the store", n)
	}
}

func TestChangedContainerIsReadAgain(t *testing.T) {
	fake := critest.Start(t, filepath.Join(t.TempDir(), "c.sock"), critest.Options{})
	fake.PutSandbox(critest.Sandbox{ID: "s", PodUID: "runtime-pod", CreatedAt: second(3)})
	l, _ := newResponder(t, fake)
	if got := response(t, l); len(got.Containers) > 0 ||
		fake.Calls()["/runtime.v1.RuntimeService/ListContainers"] != 1 {
		t.Errorf("got %+v, calls %v", got, fake.Calls())
	}
	run := critest.Container{ID: "c", SandboxID: "s", PodUID: "runtime-pod", Name: "app", CreatedAt: second(4)}
	want := timeline.ContainerRun{Name: "app", ID: "c", CreatedAt: second(4)}
	for _, step := range []func(){
		func() {},
		func() { run.StartedAt, want.StartedAt = second(5), second(5) },
		func() {
			run.FinishedAt, run.ExitCode, want.FinishedAt, want.ExitCode = second(6), 3, second(6), 3
			run.Reason, want.Reason = "Error", "Error"
		},
	} {
		step()
		fake.PutContainer(run)
		for range 2 {
			if got := response(t, l).Containers; len(got) != 1 || got[0] != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		}
	}
	if n := fake.Calls()["/runtime.v1.RuntimeService/ContainerStatus"]; n != 4 {
		t.Errorf("read %d container statuses, want two before the run, one during the run and one after", n)
	}
}

func TestNoContainersWithoutSandbox(t *testing.T) {
	fake := critest.Start(t, filepath.Join(t.TempDir(), "c.sock"), critest.Options{})
	l, _ := newResponder(t, fake)
	got := response(t, l)
	if len(got.Sandboxes)+len(got.Containers) > 0 || fake.Calls()["/runtime.v1.RuntimeService/ListContainers"] > 0 {
		t.Errorf("got %+v, calls %v", got, fake.Calls())
	}
}

func TestSandboxTimestamps(t *testing.T) {
	coarse := timeline.Sandbox{ID: "s", Ready: true, CreatedAt: second(3)}
	fine := timeline.Sandbox{ID: "s", Ready: true, BegunAt: second(1), NetworkReadyAt: second(3),
		RunningAt: second(3.5), ImageKnown: true}
	unstamped := coarse
	unstamped.Unstamped = true
	noRunning := fine
	noRunning.RunningAt = time.Time{}
	stopped := noRunning
	stopped.Ready = false
	tests := []struct {
		name             string
		options          critest.Options
		updatedAt        time.Time
		firstContainerAt time.Time
		notReady         bool
		notStored        bool
		want             timeline.Sandbox
	}{
		{name: "containerd 2", want: fine},
		{name: "containerd 2, a container later", firstContainerAt: second(4), want: fine},
		{name: "containerd 2, resources changed", updatedAt: second(50), firstContainerAt: second(4), want: noRunning},
		{name: "containerd 2, stopped before the first query", notReady: true, want: stopped},
		{name: "containerd 2, not in the store", notStored: true, want: coarse},
		{name: "containerd 2, a virtual machine's shim", options: critest.Options{Sandboxer: "shim"}, want: unstamped},
		{name: "containerd 2 without the store", options: critest.Options{NoStores: true}, want: unstamped},
		{name: "containerd 1.7", options: critest.Options{Version: "1.7.27"}, want: unstamped},
		{name: "containerd of unknown version", options: critest.Options{Version: "unknown"}, want: coarse},
		{name: "cri-o", options: critest.Options{Name: "cri-o", Version: "1.36.0", NoStores: true}, want: unstamped},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fake := critest.Start(t, filepath.Join(t.TempDir(), "c.sock"), test.options)
			fake.PutSandbox(critest.Sandbox{ID: "s", PodUID: "runtime-pod", CreatedAt: second(3),
				NotReady: test.notReady})
			if !test.notStored {
				updatedAt := test.updatedAt
				if updatedAt.IsZero() {
					updatedAt = second(3.5)
				}
				fake.StoreSandbox("s", critest.Stamps{CreatedAt: second(1), UpdatedAt: updatedAt})
			}
			if !test.firstContainerAt.IsZero() {
				fake.PutContainer(critest.Container{ID: "c", SandboxID: "s", PodUID: "runtime-pod", Name: "app",
					CreatedAt: test.firstContainerAt})
			}
			l, _ := newResponder(t, fake)
			for range 2 {
				got := response(t, l)
				if len(got.Sandboxes) != 1 || got.Sandboxes[0] != test.want {
					t.Errorf("got %+v\nwant %+v", got.Sandboxes, test.want)
				}
				if want := strings.HasPrefix(test.name, "containerd 2"); got.NetworkFirst != want {
					t.Errorf("NetworkFirst is %t, want %t", got.NetworkFirst, want)
				}
			}
		})
	}
}

func TestFirstRunningTimestampIsKept(t *testing.T) {
	fake := critest.Start(t, filepath.Join(t.TempDir(), "c.sock"), critest.Options{})
	fake.PutSandbox(critest.Sandbox{ID: "s", PodUID: "runtime-pod", CreatedAt: second(3)})
	fake.StoreSandbox("s", critest.Stamps{CreatedAt: second(1), UpdatedAt: second(3.5)})
	l, _ := newResponder(t, fake)
	response(t, l)

	// the resources of the pod changed
	fake.StoreSandbox("s", critest.Stamps{CreatedAt: second(1), UpdatedAt: second(50)})
	fake.PutSandbox(critest.Sandbox{ID: "s", PodUID: "runtime-pod", CreatedAt: second(3), NotReady: true})
	if got := response(t, l).Sandboxes[0]; got.RunningAt != second(3.5) || got.Ready {
		t.Errorf("got %+v, want the first timestamp of running", got)
	}
}

func TestMissingStoreIsLoggedOnce(t *testing.T) {
	fake := critest.Start(t, filepath.Join(t.TempDir(), "c.sock"), critest.Options{NoStores: true})
	fake.PutSandbox(critest.Sandbox{ID: "s", PodUID: "runtime-pod", CreatedAt: second(3)})
	fake.PutImage("app", 1)
	l, logs := newResponder(t, fake)
	for range 3 {
		response(t, l, "app")
	}
	if got := logs.Len(); got != 2 {
		t.Errorf("got %d log lines, want one for each store: %v", got, logs.All())
	}
}

// TestFaultsOfTheRuntime checks that a response fails because of a fault in a required part, but not because of a
// fault in an optional part.
func TestFaultsOfTheRuntime(t *testing.T) {
	const (
		list  = "/runtime.v1.RuntimeService/ListPodSandbox"
		state = "/runtime.v1.RuntimeService/ContainerStatus"
		image = "/runtime.v1.ImageService/ImageStatus"
		store = "/containerd.services.sandbox.v1.Store/Get"
		names = "/containerd.services.images.v1.Images/Get"
	)
	tests := []struct {
		method string
		code   codes.Code
		fails  bool
	}{
		{list, codes.Unknown, true},
		{state, codes.Unknown, true},
		{state, codes.NotFound, false}, // the runtime removed the container after the list
		{image, codes.Unknown, false},  // the runtime does not understand the reference
		{image, codes.NotFound, false},
		{image, codes.Unavailable, true},
		{store, codes.Internal, false},
		{store, codes.Unavailable, true},
		{names, codes.PermissionDenied, false},
		{names, codes.DeadlineExceeded, true},
	}
	for _, test := range tests {
		t.Run(test.method+" "+test.code.String(), func(t *testing.T) {
			fake := critest.Start(t, filepath.Join(t.TempDir(), "c.sock"), critest.Options{})
			fake.PutSandbox(critest.Sandbox{ID: "s", PodUID: "runtime-pod", CreatedAt: second(3)})
			fake.PutContainer(critest.Container{ID: "c", SandboxID: "s", PodUID: "runtime-pod", Name: "app",
				CreatedAt: second(4)})
			fake.PutImage("app", 1)
			l, _ := newResponder(t, fake)
			fake.Fault(func(_ context.Context, method string) error {
				if method == test.method {
					return status.Error(test.code, "fault")
				}
				return nil
			})
			_, err := l.respond(t.Context(),
				timeline.RuntimeRequest{UID: "pod", RuntimeUID: "runtime-pod", Images: []string{"app"}})
			if (err != nil) != test.fails {
				t.Errorf("got %v, want an error: %t", err, test.fails)
			}
		})
	}
}

func TestNetworkIsReadOnlyOnRequest(t *testing.T) {
	const method = "/runtime.v1.RuntimeService/Status"
	fake := critest.Start(t, filepath.Join(t.TempDir(), "c.sock"), critest.Options{})
	l, _ := newResponder(t, fake)
	for _, ready := range []bool{true, false} {
		fake.SetNetworkReady(ready)
		request := timeline.RuntimeRequest{UID: "pod", RuntimeUID: "runtime-pod", Network: true}
		seen, err := l.respond(t.Context(), request)
		if err != nil || seen.NetworkDown == ready || seen.NetworkUp != ready {
			t.Errorf("ready %t: got %+v, %v", ready, seen, err)
		}
	}
	fake.SetNetworkReady(false)
	if seen := response(t, l); seen.NetworkDown || fake.Calls()[method] != 2 {
		t.Errorf("got %+v after %d calls, want no call without a request", seen, fake.Calls()[method])
	}
	fake.Fault(func(_ context.Context, called string) error {
		if called == method {
			return status.Error(codes.Unimplemented, "no")
		}
		return nil
	})
	request := timeline.RuntimeRequest{UID: "pod", RuntimeUID: "runtime-pod", Network: true}
	if seen, err := l.respond(t.Context(), request); err != nil || seen.NetworkDown || seen.NetworkUp {
		t.Errorf("a runtime without a status: %+v, %v", seen, err)
	}
}
