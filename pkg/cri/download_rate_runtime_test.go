package cri_test

import (
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/critest"
	"github.com/podlapse/podlapse/pkg/imagepull"
)

// TestRateOfDownload checks that a download has a rate after two queries, while bytes arrive. While the config of the
// image is absent, it is unknown which layers the image needs, so the rate is unknown.
func TestRateOfDownload(t *testing.T) {
	for name, config := range map[string]bool{"with the config": true, "without the config": false} {
		t.Run(name, func(t *testing.T) {
			fake, h := startDownloads(t, critest.Options{})
			image := fake.PutLayers(critest.Layers{Source: "docker.io/library/app", Names: []string{"a"}, Size: 1e6,
				At: began})
			if !config {
				fake.RemoveBlob(image.Config)
			}
			put := func(done int64) {
				fake.PutIngest(critest.Ingest{Ref: "layer-" + image.Layers[0], Offset: done, Total: 1e6,
					StartedAt: began, UpdatedAt: time.Now().Add(time.Duration(h.ahead.Load()))})
			}
			rate := func() int64 {
				for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
					if got, err := h.queryDownloads(); err == nil && len(got) == 1 {
						return got[0].BytesPerSecond
					}
				}
				t.Fatal("no download")
				return 0
			}
			put(1)
			if got := rate(); got != 0 {
				t.Errorf("%d bytes per second after one query", got)
			}
			h.ahead.Add(int64(6 * time.Second))
			put(700_001)
			got := rate() // 7 s after the first query, or later on a busy machine
			if config && (got <= 20_000 || got > 100_000) || !config && got != 0 {
				t.Errorf("%d bytes per second", got)
			}
			put(800_001)
			h.ahead.Add(int64(10 * time.Second))
			if got := rate(); got != 0 {
				t.Errorf("%d bytes per second, but the last byte arrived 11 s before", got)
			}
		})
	}
}

// TestRateOfStalledDownload uses a pull that receives nothing after the end of its first layer, because the registry
// does not respond to the request for the second layer.
func TestRateOfStalledDownload(t *testing.T) {
	for after, known := range map[time.Duration]bool{7 * time.Second: true, 25 * time.Second: false} {
		fake, h := startDownloads(t, critest.Options{})
		h.since = began.Add(-time.Second)
		image := fake.PutLayers(critest.Layers{Source: "docker.io/library/app", Names: []string{"a", "b"}, Size: 1e6,
			At: began})
		ref := "layer-" + image.Layers[0]
		now := func() time.Time { return time.Now().Add(time.Duration(h.ahead.Load())) }
		fake.PutIngest(critest.Ingest{Ref: ref, Offset: 1, Total: 1e6, StartedAt: began, UpdatedAt: now()})
		h.awaitQuery(imagepull.Download{Registry: "docker.io", Repository: "library/app", Digest: image.Manifest,
			StartedAt: began, ResolvedAt: began, Blobs: 1, DoneBytes: image.ConfigSize + 1,
			TotalBytes: image.ConfigSize + 2e6})
		h.ahead.Add(int64(5 * time.Second))
		fake.EndIngest(ref)
		fake.PutLayer(image, 0, 1e6, now())
		h.ahead.Add(int64(after - 5*time.Second))
		got, err := h.queryDownloads()
		if err != nil || len(got) != 1 || got[0].Complete || (got[0].BytesPerSecond > 0) != known {
			t.Errorf("after %s: %+v, %v", after, got, err)
		}
	}
}
