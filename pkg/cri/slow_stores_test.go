package cri

import (
	"context"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podlapse/podlapse/internal/critest"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// The prefixes of the methods of containerd's stores.
const (
	contentPrefix   = "/containerd.services.content.v1.Content/"
	snapshotsPrefix = "/containerd.services.snapshots.v1.Snapshots/"
)

// TestLayersOfSlowOrMissingStores checks that slow or missing stores only remove layers from the response. Without a
// connection, the response must fail.
func TestLayersOfSlowOrMissingStores(t *testing.T) {
	unimplemented := func(context.Context, string) error { return status.Error(codes.Unimplemented, "unknown service") }
	internal := func(context.Context, string) error { return status.Error(codes.Internal, "disk full") }
	tests := []struct {
		name            string
		prefix          string
		fault           func(context.Context, string) error
		resolved, sized bool
		down, unpack    bool
		logs            int
		once            bool // the store receives only one request for two responses
	}{
		{name: "no content store", prefix: contentPrefix, fault: unimplemented, logs: 1, once: true},
		{name: "no snapshots", prefix: snapshotsPrefix, fault: unimplemented, resolved: true, sized: true, down: true,
			logs: 1, once: true},
		{name: "content fails", prefix: contentPrefix, fault: internal},
		{name: "reading fails", prefix: contentPrefix + "Read", fault: internal, resolved: true},
		{name: "snapshots fail", prefix: snapshotsPrefix, fault: internal, resolved: true, sized: true, down: true},
		{name: "content hangs", prefix: contentPrefix, fault: critest.Hang},
		{name: "reading hangs", prefix: contentPrefix + "Read", fault: critest.Hang, resolved: true},
		{name: "snapshots hang", prefix: snapshotsPrefix, fault: critest.Hang, resolved: true, sized: true, down: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fake := critest.Start(t, filepath.Join(t.TempDir(), "c.sock"), critest.Options{})
			putPulled(fake, "overlayfs",
				critest.Layers{Source: "docker.io/library/app", Names: []string{"a", "b", "c"}})
			l, logs := newResponder(t, fake)
			l.client.timeout = 300 * time.Millisecond
			fake.Fault(func(ctx context.Context, method string) error {
				if strings.HasPrefix(method, test.prefix) {
					return test.fault(ctx, method)
				}
				return nil
			})
			for range 2 {
				begun := time.Now()
				got := layersOf(t, l, "app")
				if took := time.Since(begun); took > patienceWithStores {
					t.Errorf("took %v", took)
				}
				if !got.Present || got.ResolvedAt.IsZero() == test.resolved || (len(got.Layers) == 3) != test.sized {
					t.Fatalf("got %+v", got)
				}
				if test.sized && (got.Layers[0].DownloadedAt.IsZero() == test.down ||
					got.Layers[0].UnpackedAt.IsZero() == test.unpack) {
					t.Errorf("got %+v", got.Layers[0])
				}
			}
			if logs.Len() != test.logs {
				t.Errorf("logged %v", logs.All())
			}
			queries := 0
			for method, n := range fake.Calls() {
				if strings.HasPrefix(method, test.prefix) {
					queries += n
				}
			}
			if test.once && queries != 1 {
				t.Errorf("sent %d queries", queries)
			}
		})
	}
}

func TestBrokenConnectionIsAnError(t *testing.T) {
	fake := critest.Start(t, filepath.Join(t.TempDir(), "c.sock"), critest.Options{})
	putPulled(fake, "overlayfs", critest.Layers{Source: "docker.io/library/app", Names: []string{"a"}})
	l, _ := newResponder(t, fake)
	fake.Fault(func(_ context.Context, method string) error {
		if strings.HasPrefix(method, snapshotsPrefix) {
			return status.Error(codes.Unavailable, "gone")
		}
		return nil
	})
	_, err := l.respond(t.Context(),
		timeline.RuntimeRequest{UID: "pod", RuntimeUID: "pod", Images: []string{"app"}, Layers: []string{"app"}})
	if status.Code(err) != codes.Unavailable {
		t.Errorf("got %v, want an error", err)
	}
}

// TestSlowStoresServeDownloadsFirst simulates a busy disk. If time is short, the response must omit the timestamps of
// unpacking and not the timestamps of downloads. The response must be marked as incomplete.
func TestSlowStoresServeDownloadsFirst(t *testing.T) {
	const contentPrefix, snapshotsPrefix = "/containerd.services.content.v1.Content/Info",
		"/containerd.services.snapshots.v1.Snapshots/"
	for _, test := range []struct {
		name, slow      string
		downs, unpacked int
		incomplete      bool
	}{
		{name: "all in time", downs: 4, unpacked: 4},
		{name: "snapshots", slow: snapshotsPrefix, downs: 4, unpacked: 2, incomplete: true},
		{name: "blobs", slow: contentPrefix, downs: 2, incomplete: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			fake := critest.Start(t, filepath.Join(t.TempDir(), "c.sock"), critest.Options{})
			putPulled(fake, "overlayfs",
				critest.Layers{Source: "docker.io/library/app", Names: []string{"a", "b", "c", "d"}})
			l, _ := newResponder(t, fake)
			l.client.timeout = 300 * time.Millisecond
			var calls atomic.Int32 // number of calls that the runtime responded to in time
			fake.Fault(func(ctx context.Context, method string) error {
				if test.slow == "" || !strings.HasPrefix(method, test.slow) {
					return nil
				}
				n := calls.Add(1)
				// The first blob is the manifest.
				if test.slow == contentPrefix && n <= 3 || test.slow == snapshotsPrefix && n <= 2 {
					return nil
				}
				return critest.Hang(ctx, method)
			})
			got := layersOf(t, l, "app")
			downs, unpacked := 0, 0
			for _, layer := range got.Layers {
				if !layer.DownloadedAt.IsZero() {
					downs++
				}
				if !layer.UnpackedAt.IsZero() {
					unpacked++
				}
			}
			if len(got.Layers) != 4 || downs != test.downs || unpacked != test.unpacked ||
				got.Incomplete != test.incomplete {
				t.Errorf(
					"%d layers, %d with their download, %d unpacked, incomplete %t",
					len(got.Layers),
					downs,
					unpacked,
					got.Incomplete,
				)
			}
		})
	}
}

// patienceWithStores is much longer than the 300 ms for all layers together, because the machine can be slow.
const patienceWithStores = 5 * time.Second
