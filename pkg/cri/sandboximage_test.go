package cri

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podlapse/podlapse/internal/critest"
	"github.com/podlapse/podlapse/pkg/timeline"
)

const listImages = "/containerd.services.images.v1.Images/List"

// startSandbox creates a sandbox that begins at second 1, and whose sandbox container is created at second 3.
// startSandbox returns the sandbox as the agent sees it.
func startSandbox(t *testing.T, prepare func(*critest.Runtime)) (timeline.Sandbox, *critest.Runtime) {
	t.Helper()
	fake := critest.Start(t, filepath.Join(t.TempDir(), "c.sock"), critest.Options{})
	fake.PutSandbox(critest.Sandbox{ID: "s", PodUID: "runtime-pod", CreatedAt: second(3)})
	fake.StoreSandbox("s", critest.Stamps{CreatedAt: second(1), UpdatedAt: second(3.5)})
	prepare(fake)
	l, _ := newResponder(t, fake)
	seen := response(t, l)
	if len(seen.Sandboxes) != 1 {
		t.Fatalf("got %+v", seen)
	}
	return seen.Sandboxes[0], fake
}

func TestSandboxImage(t *testing.T) {
	const blob = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	at := func(s float64) critest.Stored {
		return critest.Stored{Stamps: critest.Stamps{CreatedAt: second(s), UpdatedAt: second(s)}, Digest: blob}
	}
	const other = "docker.io/rancher/mirrored-other:1"
	tests := []struct {
		name             string
		prepare          func(*critest.Runtime)
		known            bool
		pulled, resolved time.Time
	}{
		{"there before", func(*critest.Runtime) {}, true, time.Time{}, time.Time{}},
		{"pulled meanwhile", func(r *critest.Runtime) { r.PinImage(critest.SandboxImage, at(2.5)) }, true, second(2.5),
			time.Time{}},
		{"the manifest arrived meanwhile", func(r *critest.Runtime) {
			r.PinImage(critest.SandboxImage, at(2.5))
			r.PutBlob(critest.Blob{Digest: blob, CreatedAt: second(2)})
		}, true, second(2.5), second(2)},
		{"the manifest was there before", func(r *critest.Runtime) {
			r.PinImage(critest.SandboxImage, at(2.5))
			r.PutBlob(critest.Blob{Digest: blob, CreatedAt: second(0)})
		}, true, second(2.5), time.Time{}},
		{"pulled afterwards", func(r *critest.Runtime) { r.PinImage(critest.SandboxImage, at(3.2)) }, true, time.Time{},
			time.Time{}},
		{"one of two pinned", func(r *critest.Runtime) { r.PinImage(other, at(2.5)) }, true, time.Time{}, time.Time{}},
		{"two possible sandbox images, one pulled meanwhile", func(r *critest.Runtime) {
			r.PinImage("example.com/pause:1", at(2.5))
		}, true, second(2.5), time.Time{}},
		{"the previous version's image", func(r *critest.Runtime) {
			r.PinImage("registry.k8s.io/pause:3.9", at(-9))
		}, true, time.Time{}, time.Time{}},
		{"an unusual name", func(r *critest.Runtime) {
			r.UnpinImage(critest.SandboxImage)
			r.PinImage(other, at(2.5))
		}, true, second(2.5), time.Time{}},
		{"none pinned", func(r *critest.Runtime) { r.UnpinImage(critest.SandboxImage) }, false, time.Time{},
			time.Time{}},
		{"a store without lists", func(r *critest.Runtime) {
			r.Fault(func(_ context.Context, method string) error {
				if method == listImages {
					return status.Error(codes.Unimplemented, "no")
				}
				return nil
			})
		}, false, time.Time{}, time.Time{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, _ := startSandbox(t, test.prepare)
			if got.ImageKnown != test.known || !got.ImagePulledAt.Equal(test.pulled) ||
				!got.ImageResolvedAt.Equal(test.resolved) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestSandboxImageIsListedOnceForQuickSandboxes counts the requests for pods whose sandboxes start at normal
// speed.
func TestSandboxImageIsListedOnceForQuickSandboxes(t *testing.T) {
	fake := critest.Start(t, filepath.Join(t.TempDir(), "c.sock"), critest.Options{})
	l, _ := newResponder(t, fake)
	for _, id := range []string{"a", "b", "c"} {
		fake.PutSandbox(critest.Sandbox{ID: id, PodUID: "runtime-pod", CreatedAt: second(1.05)})
		fake.StoreSandbox(id, critest.Stamps{CreatedAt: second(1), UpdatedAt: second(1.1)})
	}
	for _, s := range response(t, l).Sandboxes {
		if !s.ImageKnown || !s.ImagePulledAt.IsZero() {
			t.Errorf("got %+v", s)
		}
	}
	if n := fake.Calls()[listImages]; n != 1 {
		t.Errorf("%d lists of images, want 1", n)
	}
}
