package cri_test

import (
	"context"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podlapse/podlapse/internal/critest"
	"github.com/podlapse/podlapse/pkg/cri"
	"github.com/podlapse/podlapse/pkg/imagepull"
)

const contentStore = "/containerd.services.content.v1.Content/"

// began is the start of the test's downloads.
var began = time.Now().Add(-time.Minute).UTC().Truncate(time.Millisecond)

// startDownloads starts a source, and waits until the source is connected.
func startDownloads(t *testing.T, options critest.Options) (*critest.Runtime, *harness) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.sock")
	fake := critest.Start(t, path, options)
	h := run(t, cri.Config{Endpoint: explicit(t, path)})
	h.awaitReport(true, "")
	return fake, h
}

// queryDownloads moves the source's clock by one second, so that the source shares no earlier response. Then it queries
// the downloads.
func (h *harness) queryDownloads() ([]imagepull.Download, error) {
	h.ahead.Add(int64(time.Second))
	return h.source.Downloads(h.t.Context(), h.since)
}

// awaitQuery repeats the query until the source returns the expected response. The repetition is necessary, because
// a session becomes usable shortly after its report.
func (h *harness) awaitQuery(want ...imagepull.Download) {
	h.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		got, err := h.queryDownloads()
		for i := range got {
			got[i].BytesPerSecond = 0 // depends on the time between two queries: see TestRateOfDownload
		}
		if err == nil && len(got) == len(want) && (len(want) == 0 || reflect.DeepEqual(got, want)) {
			return
		}
		if time.Now().After(deadline) {
			h.t.Fatalf("got  %+v, %v\nwant %+v", got, err, want)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// ingest adds a partly downloaded layer. Its download began the given number of seconds after the first
// download.
func ingest(fake *critest.Runtime, layer string, done int64, after float64) {
	fake.PutIngest(critest.Ingest{
		Ref: "layer-" + layer, Offset: done, Total: 100,
		StartedAt: began.Add(time.Duration(after * float64(time.Second))), UpdatedAt: time.Now(),
	})
}

func TestDownloads(t *testing.T) {
	fake, h := startDownloads(t, critest.Options{})
	image := fake.PutLayers(critest.Layers{Source: "docker.io/library/app", Names: []string{"base", "b", "c", "d", "b"},
		Size: 100, Indexed: true, At: began})
	fake.PutLayers(critest.Layers{Source: "docker.io/library/other", Names: []string{"base", "x"}, Size: 100,
		At: began})
	fake.PutLayer(image, 0, 100, began)
	ingest(fake, image.Layers[1], 40, 2)
	ingest(fake, image.Layers[2], 3, 1)
	want := imagepull.Download{
		Registry: "docker.io", Repository: "library/app", Digest: image.Manifest, StartedAt: began.Add(time.Second),
		ResolvedAt: began, Blobs: 2,
		DoneBytes: image.ConfigSize + 100 + 40 + 3, TotalBytes: image.ConfigSize + 4*100, // layer b counts once
	}
	h.awaitQuery(want)

	fake.EndIngest("layer-" + image.Layers[2])
	fake.PutLayer(image, 2, 100, time.Now())
	ingest(fake, image.Layers[1], 90, 2)
	want.DoneBytes, want.StartedAt, want.Blobs = image.ConfigSize+100+90+100, began.Add(2*time.Second), 1
	h.awaitQuery(want)

	fake.EndIngest("layer-" + image.Layers[1])
	h.awaitQuery()
}

// TestPullsThatUnpack checks images whose pull is in progress, although containerd is downloading no blob.
func TestPullsThatUnpack(t *testing.T) {
	fake, h := startDownloads(t, critest.Options{})
	image := fake.PutLayers(critest.Layers{Source: "docker.io/library/app", Names: []string{"a", "b"}, Size: 100,
		At: began})
	fake.PutLayer(image, 0, 100, began)
	h.awaitQuery() // without a start time, the source omits pulls that download no blob
	h.since = began.Add(time.Second)
	h.awaitQuery() // pulls from before the start time are not returned
	h.since = began.Add(-time.Second)
	want := imagepull.Download{Registry: "docker.io", Repository: "library/app", Digest: image.Manifest,
		StartedAt: began, ResolvedAt: began,
		DoneBytes: image.ConfigSize + 100, TotalBytes: image.ConfigSize + 200}
	h.awaitQuery(want)
	fake.PutLayer(image, 1, 100, began.Add(time.Second))
	want.DoneBytes, want.Complete, want.ArrivedAt = want.TotalBytes, true, began.Add(time.Second)
	h.awaitQuery(want)
	fake.Unpack("overlayfs", image, 0, began.Add(2*time.Second))
	h.awaitQuery(want)
	fake.Unpack("overlayfs", image, 1, began.Add(3*time.Second)) // the config now has the label
	h.awaitQuery()
}

func TestDownloadsBeforeTheLayers(t *testing.T) {
	fake, h := startDownloads(t, critest.Options{})
	image := fake.PutLayers(critest.Layers{Source: "docker.io/library/app", Names: []string{"a"}, Size: 100, At: began})
	fake.RemoveBlob(image.Config)
	fake.PutIngest(critest.Ingest{Ref: "config-" + image.Config, Offset: 1, Total: image.ConfigSize, StartedAt: began,
		UpdatedAt: time.Now()})
	h.awaitQuery(imagepull.Download{
		Registry: "docker.io", Repository: "library/app", Digest: image.Manifest, StartedAt: began, ResolvedAt: began,
		Blobs:     1,
		DoneBytes: 1, TotalBytes: image.ConfigSize + 100,
	})

	// Before the manifest arrives, only its digest is known. Before the index arrives, no digest of a manifest is
	// known.
	fake.EndIngest("config-" + image.Config)
	manifest, index := digest.FromString("manifest").String(), digest.FromString("index").String()
	fake.PutIngest(critest.Ingest{Ref: "manifest-" + manifest, Total: 9, StartedAt: began, UpdatedAt: time.Now()})
	fake.PutIngest(critest.Ingest{Ref: "index-" + index, Offset: 2, Total: 7, StartedAt: began.Add(time.Second),
		UpdatedAt: time.Now()})
	h.awaitQuery(
		imagepull.Download{Digest: manifest, StartedAt: began, Blobs: 1},
		imagepull.Download{StartedAt: began.Add(time.Second), Blobs: 1, DoneBytes: 2, TotalBytes: 7},
	)
}

func TestDownloadsUnmatched(t *testing.T) {
	fake, h := startDownloads(t, critest.Options{})
	ingest(fake, critest.LayerDigest("a"), 10, 5)
	ingest(fake, critest.LayerDigest("b"), 20, 3)
	h.awaitQuery(imagepull.Download{StartedAt: began.Add(3 * time.Second), Blobs: 2, DoneBytes: 30, TotalBytes: 200})
	fake.PutIngest(critest.Ingest{Ref: "layer-" + critest.LayerDigest("c"), Offset: 5,
		StartedAt: began.Add(4 * time.Second), UpdatedAt: time.Now()})
	h.awaitQuery(imagepull.Download{StartedAt: began.Add(3 * time.Second), Blobs: 3, DoneBytes: 35})
}

func TestDownloadsThatShareALayer(t *testing.T) {
	fake, h := startDownloads(t, critest.Options{})
	one := fake.PutLayers(critest.Layers{Source: "docker.io/library/one", Names: []string{"base", "1"}, Size: 100,
		At: began})
	two := fake.PutLayers(critest.Layers{Source: "127.0.0.1/library/two", Names: []string{"base", "2"}, Size: 100,
		At: began})
	ingest(fake, one.Layers[0], 50, 3)
	ingest(fake, one.Layers[1], 1, 1)
	ingest(fake, two.Layers[1], 2, 2)
	h.awaitQuery(
		imagepull.Download{
			Registry: "docker.io", Repository: "library/one", Digest: one.Manifest, StartedAt: began.Add(time.Second),
			ResolvedAt: began, Blobs: 2, DoneBytes: one.ConfigSize + 51, TotalBytes: one.ConfigSize + 200,
		},
		imagepull.Download{
			Registry: "127.0.0.1", Repository: "library/two", Digest: two.Manifest,
			StartedAt: began.Add(2 * time.Second), ResolvedAt: began, Blobs: 2,
			DoneBytes: two.ConfigSize + 52, TotalBytes: two.ConfigSize + 200,
		},
	)
}

// TestDownloadsWithDiscardedLayers checks downloads with discard_unpacked_layers. With this setting, no labels name
// layers, and containerd removes unpacked layers from the content store. A pull of another image can download a
// removed layer again.
func TestDownloadsWithDiscardedLayers(t *testing.T) {
	fake, h := startDownloads(t, critest.Options{})
	old := fake.PutLayers(critest.Layers{Source: "docker.io/library/old", Names: []string{"base", "shared"}, Size: 100,
		Discard: true, At: began.Add(-time.Hour)})
	fake.Unpack("overlayfs", old, 0, began)
	fake.Unpack("overlayfs", old, 1, began)
	image := fake.PutLayers(critest.Layers{Source: "docker.io/library/new", Names: []string{"base", "mine", "shared"},
		Size: 100, Discard: true, At: began})
	ingest(fake, image.Layers[1], 10, 1)
	ingest(fake, image.Layers[2], 20, 1)
	h.awaitQuery(imagepull.Download{
		Registry: "docker.io", Repository: "library/new", Digest: image.Manifest, StartedAt: began.Add(time.Second),
		ResolvedAt: began, Blobs: 2, DoneBytes: image.ConfigSize + 100 + 30, TotalBytes: image.ConfigSize + 300,
	})
}

// TestArrivalWithDiscardedLayers checks the arrival of the last blob if containerd has removed a blob. The removed blob
// arrived before it was unpacked, so its arrival is unknown only if no other blob arrived later.
func TestArrivalWithDiscardedLayers(t *testing.T) {
	for name, test := range map[string]struct{ unpackedAt, want time.Time }{
		"unpacked before the last arrival": {began.Add(time.Second), began.Add(2 * time.Second)},
		"unpacked after the last arrival":  {began.Add(3 * time.Second), time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			fake, h := startDownloads(t, critest.Options{})
			image := fake.PutLayers(critest.Layers{
				Source: "docker.io/library/app", Names: []string{"a", "b"}, Size: 100,
				Discard: true, At: began})
			fake.Unpack("overlayfs", image, 0, test.unpackedAt)
			fake.PutLayer(image, 1, 100, began.Add(2*time.Second))
			h.since = began.Add(-time.Second)
			h.awaitQuery(imagepull.Download{
				Registry: "docker.io", Repository: "library/app", Digest: image.Manifest, StartedAt: began,
				ResolvedAt: began, DoneBytes: image.ConfigSize + 200, TotalBytes: image.ConfigSize + 200,
				Complete: true, ArrivedAt: test.want,
			})
		})
	}
}

func TestDownloadsCostLittle(t *testing.T) {
	fake, h := startDownloads(t, critest.Options{})
	fake.PutLayers(critest.Layers{Source: "docker.io/library/app", Names: []string{"a"}, Size: 100, At: began})
	for fake.Calls()[contentStore+"ListStatuses"] == 0 { // a session becomes usable shortly after its report
		h.awaitQuery()
	}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if got, err := h.source.Downloads(t.Context(), time.Time{}); err != nil || len(got) != 0 {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	all.Wait()
	calls := fake.Calls()
	if n := calls[contentStore+"ListStatuses"]; n > 2 { // usually 1 query; 2 if the machine paused for a second
		t.Errorf("sent %d queries", n)
	}
	// Each new connection lists the manifests once and queries the latest one: see findDiscardOption.
	allowed := map[string]int{contentStore + "List": 1, contentStore + "Info": 1}
	for method, n := range calls {
		if strings.HasPrefix(method, contentStore) && method != contentStore+"ListStatuses" && n > allowed[method] {
			t.Errorf("%s was called %d times without a download", method, n)
		}
	}
}

func TestDownloadsWithoutRuntime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.sock")
	h := run(t, cri.Config{Endpoint: explicit(t, path)})
	h.awaitReport(false, "")
	if got, err := h.source.Downloads(t.Context(), time.Time{}); err != nil || len(got) != 0 {
		t.Errorf("without a runtime got %+v, %v", got, err)
	}
	fake := critest.Start(t, path, critest.Options{})
	ingest(fake, critest.LayerDigest("a"), 10, 0)
	want := imagepull.Download{StartedAt: began, Blobs: 1, DoneBytes: 10, TotalBytes: 100}
	h.awaitQuery(want)
	fake.Stop()
	h.awaitQuery() // the query detects the stop immediately
	h.awaitReport(false, "connection to the container runtime is lost")
	again := critest.Start(t, path, critest.Options{})
	ingest(again, critest.LayerDigest("a"), 10, 0)
	h.awaitQuery(want)
	h.stopSource()
	if got, err := h.source.Downloads(t.Context(), time.Time{}); err != nil || len(got) != 0 {
		t.Errorf("after the stop got %+v, %v", got, err)
	}
}

func TestDownloadsUnsupportedByRuntime(t *testing.T) {
	for name, options := range map[string]critest.Options{
		"cri-o":                      {Name: "cri-o", Version: "1.36.0", NoStores: true},
		"containerd without a store": {NoStores: true},
	} {
		t.Run(name, func(t *testing.T) {
			fake, h := startDownloads(t, options)
			for range 3 {
				h.awaitQuery()
			}
			for range 3 {
				time.Sleep(time.Millisecond)
				h.awaitQuery()
			}
			if n := fake.Calls()[contentStore+"ListStatuses"]; n > 1 {
				t.Errorf("sent %d queries", n)
			}
		})
	}
}

func TestDownloadsOfFailingRuntime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.sock")
	fake := critest.Start(t, path, critest.Options{})
	image := fake.PutLayers(critest.Layers{Source: "docker.io/library/app", Names: []string{"a", "b"}, Size: 100,
		At: began})
	ingest(fake, image.Layers[0], 40, 0)
	h := run(t, cri.Config{Endpoint: explicit(t, path), Timeout: 100 * time.Millisecond})
	h.awaitReport(true, "")
	want := imagepull.Download{
		Registry: "docker.io", Repository: "library/app", Digest: image.Manifest, StartedAt: began, ResolvedAt: began,
		Blobs:     1,
		DoneBytes: image.ConfigSize + 40, TotalBytes: image.ConfigSize + 200,
	}
	h.awaitQuery(want)
	for _, method := range []string{"ListStatuses", "List", "Info"} {
		for name, fault := range map[string]func(context.Context, string) error{
			"hangs": critest.Hang,
			"fails": func(context.Context, string) error { return status.Error(codes.Unavailable, "not now") },
		} {
			fake.Fault(func(ctx context.Context, called string) error {
				if called == contentStore+method {
					return fault(ctx, called)
				}
				return nil
			})
			deadline := time.Now().Add(patience)
			for {
				begun := time.Now()
				_, err := h.queryDownloads()
				if took := time.Since(begun); took > patience/2 {
					t.Errorf("%s %s: took %v", method, name, took)
				}
				if err != nil {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("%s %s: no error", method, name)
				}
				time.Sleep(20 * time.Millisecond)
			}
			fake.Fault(nil)
			h.awaitQuery(want)
		}
	}
}
