package cri

import (
	"path/filepath"
	"testing"
	"time"

	containersapi "github.com/containerd/containerd/api/services/containers/v1"
	"google.golang.org/protobuf/proto"

	"github.com/podlapse/podlapse/internal/critest"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestSandboxTimesOfContainerd1(t *testing.T) {
	const (
		usual  = `{"linux":{"namespaces":[{"type":"pid"},{"type":"network","path":"/run/netns/x"}]}}`
		mapped = `{"linux":{"namespaces":[{"type":"network"},{"type":"user","path":"/proc/7/ns/user"}]}}`
	)
	record := critest.Record{Stamps: critest.Stamps{CreatedAt: second(1), UpdatedAt: second(3)}, Kind: "sandbox",
		Image: critest.SandboxImage, Spec: usual}
	fine := timeline.Sandbox{ID: "s", Ready: true, BegunAt: second(1), NetworkReadyAt: second(3), ImageFirst: true,
		ImageStoredAt: second(-100), Unstamped: true}
	unknown := timeline.Sandbox{ID: "s", Ready: true, CreatedAt: second(1), Unstamped: true}
	stopped := unknown
	stopped.Ready = false
	imageUnknown := fine
	imageUnknown.ImageStoredAt = time.Time{}
	with := func(change func(*critest.Record)) critest.Record {
		changed := record
		change(&changed)
		return changed
	}
	tests := []struct {
		name             string
		version          string // empty means 1.7.35
		record           critest.Record
		firstContainerAt time.Time
		notReady         bool
		want             timeline.Sandbox
	}{
		{name: "usual", record: record, want: fine},
		{name: "a container later", record: record, firstContainerAt: second(4), want: fine},
		{name: "Debian's containerd", version: "1.6.20~ds1", record: record, want: fine},
		{name: "the first release that updates twice", version: "v1.6.15", record: record, want: fine},
		{name: "the last release that updates once", version: "1.6.14", record: record, want: unknown},
		{name: "containerd 1.5", version: "1.5.18", record: record, want: unknown},
		{name: "changed after a container", record: record, firstContainerAt: second(2), want: unknown},
		{name: "stopped before the first query", record: record, notReady: true, want: stopped},
		{name: "the host's network, or another order of the steps",
			record: with(func(r *critest.Record) { r.UpdatedAt = r.CreatedAt }), want: unknown},
		{name: "user namespace", record: with(func(r *critest.Record) { r.Spec = mapped }), want: unknown},
		{name: "invalid spec", record: with(func(r *critest.Record) { r.Spec = "{" }), want: unknown},
		{name: "spec without namespaces", record: with(func(r *critest.Record) { r.Spec = "{}" }), want: unknown},
		{name: "not a sandbox", record: with(func(r *critest.Record) { r.Kind = "container" }), want: unknown},
		{name: "the sandbox image is not in the store",
			record: with(func(r *critest.Record) { r.Image = "registry.example/absent:1" }), want: imageUnknown},
		{name: "no record", want: unknown},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			version := test.version
			if version == "" {
				version = "1.7.35"
			}
			fake := critest.Start(t, filepath.Join(t.TempDir(), "c.sock"), critest.Options{Version: version})
			fake.PutSandbox(critest.Sandbox{ID: "s", PodUID: "runtime-pod", CreatedAt: second(1),
				NotReady: test.notReady})
			fake.StoreImage(critest.SandboxImage,
				critest.Stored{Stamps: critest.Stamps{CreatedAt: second(-100), UpdatedAt: second(-9)}})
			if test.record != (critest.Record{}) {
				fake.StoreContainer("s", test.record)
			}
			if !test.firstContainerAt.IsZero() {
				fake.PutContainer(critest.Container{ID: "c", SandboxID: "s", PodUID: "runtime-pod", Name: "app",
					CreatedAt: test.firstContainerAt})
			}
			l, _ := newResponder(t, fake)
			for range 2 {
				if got := response(t, l).Sandboxes; len(got) != 1 || got[0] != test.want {
					t.Errorf("got %+v\nwant %+v", got, test.want)
				}
			}
			const get = "/containerd.services.containers.v1.Containers/Get"
			if n := fake.Calls()[get]; test.want == fine && n != 1 {
				t.Errorf("read the record %d times, want once, because the times do not change", n)
			}
		})
	}
}

// Without the container store, the agent reports why timelines are less precise.
func TestContainerd1WithoutStores(t *testing.T) {
	fake := critest.Start(t, filepath.Join(t.TempDir(), "c.sock"), critest.Options{Version: "1.7.35", NoStores: true})
	fake.PutSandbox(critest.Sandbox{ID: "s", PodUID: "runtime-pod", CreatedAt: second(1)})
	l, logs := newResponder(t, fake)
	response(t, l)
	if names, _ := l.stores.absentStores(); len(names) == 0 || names[0] != "sandboxes" {
		t.Errorf("absent stores: %q", names)
	}
	if logs.FilterMessageSnippet("does not provide one of its stores").Len() == 0 {
		t.Error("no warning")
	}
}

// TestOnlySandboxRecordsAreRead checks that the connection refuses the records of other containers, because their
// environment variables can contain secrets.
func TestOnlySandboxRecordsAreRead(t *testing.T) {
	call, _ := Allowed("/containerd.services.containers.v1.Containers/Get")
	for kind, want := range map[string]bool{"sandbox": true, "container": false, "": false} {
		data, err := proto.Marshal(&containersapi.GetContainerResponse{Container: &containersapi.Container{
			Labels: map[string]string{"io.cri-containerd.kind": kind}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := call.Response(func() []byte { return data }); (err == nil) != want {
			t.Errorf("%q: %v", kind, err)
		}
	}
	if err := call.Response(func() []byte { return []byte{0xff} }); err == nil {
		t.Error("an invalid message passes")
	}
}
