package cri

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/critest"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// putPulled puts an image on the node in the same way as a pull. Layer i has 10 bytes. Each layer i arrives at
// second i+2. Its unpacking ends half a second later.
func putPulled(fake *critest.Runtime, snapshotter string, image critest.Layers) critest.Built {
	image.Size, image.At = 10, second(1)
	built := fake.PutLayers(image)
	for i := range built.Layers {
		fake.PutLayer(built, i, 10, second(float64(i+2)))
		fake.Unpack(snapshotter, built, i, second(float64(i)+2.5))
	}
	imageNamed(fake, built.Target)
	return built
}

// remount labels a layer's snapshot in the same way as a snapshotter.
func remount(fake *critest.Runtime, snapshotter string, built critest.Built, i int, labels map[string]string) {
	fake.PutSnapshot(critest.Snapshot{Snapshotter: snapshotter, Name: built.ChainIDs[i],
		CreatedAt: second(float64(i) + 2.5), Labels: labels})
}

// imageNamed gives an image the name "app".
func imageNamed(fake *critest.Runtime, target string) {
	fake.PutImage("app", 20)
	fake.StoreImage("docker.io/library/app:latest", critest.Stored{Digest: target})
}

func layersOf(t *testing.T, l *responder, ref string) timeline.Image {
	t.Helper()
	seen, err := l.respond(t.Context(),
		timeline.RuntimeRequest{UID: "pod", RuntimeUID: "runtime-pod", Images: []string{ref}, Layers: []string{ref}})
	if err != nil {
		t.Fatal(err)
	}
	if len(seen.Images) != 1 {
		t.Fatalf("got %+v", seen.Images)
	}
	return seen.Images[0]
}

var layersABC = critest.Layers{Source: "docker.io/library/app", Names: []string{"a", "b", "c"}}

func allLayers(built critest.Built) []timeline.Layer {
	var layers []timeline.Layer
	for i, d := range built.Layers {
		layers = append(layers, timeline.Layer{Digest: d, SizeBytes: 10, DownloadedAt: second(float64(i + 2)),
			UnpackedAt: second(float64(i) + 2.5)})
	}
	return layers
}

// layersTests are the cases of TestLayers.
var layersTests = []struct {
	name        string
	options     critest.Options
	snapshotter string
	image       critest.Layers
	then        func(*critest.Runtime, critest.Built)
	want        func([]timeline.Layer) []timeline.Layer
	unresolved  bool
}{
	{name: "manifest", image: layersABC},
	{name: "containerd 1.6", options: critest.Options{Version: "1.6.38"}, image: layersABC},
	{name: "index", image: critest.Layers{Source: layersABC.Source, Names: layersABC.Names, Indexed: true}},
	{name: "another snapshotter", snapshotter: "zfs", image: layersABC},
	{name: "layers that stargz or SOCI mounted", snapshotter: "soci", image: layersABC,
		then: func(fake *critest.Runtime, b critest.Built) {
			remount(fake, "soci", b, 1, map[string]string{"containerd.io/snapshot/remote": "remote snapshot"})
			fake.RemoveBlob(b.Layers[1])
		},
		want: func(l []timeline.Layer) []timeline.Layer {
			l[1].DownloadedAt, l[1].Remote = time.Time{}, true
			return l
		}},
	{name: "a data layer that nydus mounted", snapshotter: "nydus", image: layersABC,
		then: func(fake *critest.Runtime, b critest.Built) {
			remount(fake, "nydus", b, 0, map[string]string{"containerd.io/snapshot/nydus-blob": "true"})
			fake.RemoveBlob(b.Layers[0])
		},
		want: func(l []timeline.Layer) []timeline.Layer {
			l[0].DownloadedAt, l[0].Remote = time.Time{}, true
			return l
		}},
	{name: "an overlaybd layer that was downloaded", snapshotter: "overlaybd", image: layersABC,
		then: func(fake *critest.Runtime, b critest.Built) {
			remount(fake, "overlaybd", b, 0,
				map[string]string{"containerd.io/snapshot/overlaybd/blob-digest": b.Layers[0]})
		}},
	{name: "the same layer twice", image: critest.Layers{Source: layersABC.Source, Names: []string{"a", "b", "a"}},
		want: func(l []timeline.Layer) []timeline.Layer {
			l[0].DownloadedAt = second(4) // the third layer has the same blob, which is stored again
			return l
		}},
	{name: "a layer discarded", image: layersABC,
		then: func(fake *critest.Runtime, b critest.Built) { fake.RemoveBlob(b.Layers[1]) },
		want: func(l []timeline.Layer) []timeline.Layer { l[1].DownloadedAt = time.Time{}; return l }},
	{name: "a snapshot missing", image: layersABC,
		then: func(fake *critest.Runtime, b critest.Built) { fake.RemoveSnapshot("overlayfs", b.ChainIDs[2]) },
		want: func(l []timeline.Layer) []timeline.Layer { l[2].UnpackedAt = time.Time{}; return l }},
	{name: "a snapshot not committed", image: layersABC,
		then: func(fake *critest.Runtime, b critest.Built) {
			fake.PutSnapshot(critest.Snapshot{Name: b.ChainIDs[0], Active: true, CreatedAt: second(2)})
		},
		want: func(l []timeline.Layer) []timeline.Layer { l[0].UnpackedAt = time.Time{}; return l }},
	{name: "config missing", image: layersABC,
		then: func(fake *critest.Runtime, b critest.Built) { fake.RemoveBlob(b.Config) },
		want: func(l []timeline.Layer) []timeline.Layer {
			for i := range l {
				l[i].UnpackedAt = time.Time{}
			}
			return l
		}},
	{name: "manifest missing", image: critest.Layers{Source: layersABC.Source, Names: layersABC.Names, Indexed: true},
		then: func(fake *critest.Runtime, b critest.Built) { fake.RemoveBlob(b.Manifest) },
		want: func([]timeline.Layer) []timeline.Layer { return nil }},
	{name: "manifest damaged", image: layersABC,
		then: func(fake *critest.Runtime, b critest.Built) {
			fake.PutBlob(critest.Blob{Digest: b.Manifest, Data: []byte(`{"layers":[`), CreatedAt: second(1)})
		},
		want: func([]timeline.Layer) []timeline.Layer { return nil }},
	{name: "target missing", image: layersABC, unresolved: true,
		then: func(fake *critest.Runtime, b critest.Built) { fake.RemoveBlob(b.Target) },
		want: func([]timeline.Layer) []timeline.Layer { return nil }},
	{name: "cri-o", options: critest.Options{Name: "cri-o", Version: "1.36.0"}, image: layersABC, unresolved: true,
		want: func([]timeline.Layer) []timeline.Layer { return nil }},
}

func TestLayers(t *testing.T) {
	for _, test := range layersTests {
		t.Run(test.name, func(t *testing.T) {
			fake := critest.Start(t, filepath.Join(t.TempDir(), "c.sock"), test.options)
			snapshotter := test.snapshotter
			if snapshotter == "" {
				snapshotter = "overlayfs"
			}
			built := putPulled(fake, snapshotter, test.image)
			want := allLayers(built)
			if test.then != nil {
				test.then(fake, built)
			}
			if test.want != nil {
				want = test.want(want)
			}
			l, logs := newResponder(t, fake)
			for range 2 {
				got := layersOf(t, l, "app")
				if !slices.Equal(got.Layers, want) {
					t.Errorf("got  %+v\nwant %+v", got.Layers, want)
				}
				lazy := len(want) > 0 && test.snapshotter != "" && test.snapshotter != "zfs"
				if got.LazySnapshotter != lazy {
					t.Errorf("lazy snapshotter %t, want %t", got.LazySnapshotter, lazy)
				}
				if got.ResolvedAt.IsZero() != test.unresolved || !test.unresolved && got.ResolvedAt != second(1) {
					t.Errorf("resolved at %v", got.ResolvedAt)
				}
			}
			if logs.Len() != 0 {
				t.Errorf("logged %v", logs.All())
			}
		})
	}
}

// TestLayersAreReadOnce checks that the responder reads immutable content once, and does not read images without a
// request for layers.
func TestLayersAreReadOnce(t *testing.T) {
	fake := critest.Start(t, filepath.Join(t.TempDir(), "c.sock"), critest.Options{})
	putPulled(fake, "overlayfs",
		critest.Layers{Source: "docker.io/library/app", Names: []string{"a", "b"}, Indexed: true})
	l, _ := newResponder(t, fake)
	if image := response(t, l, "app").Images[0]; len(image.Layers) != 0 || !image.ResolvedAt.IsZero() {
		t.Errorf("got %+v without a request", image)
	}
	layersOf(t, l, "app")
	before := fake.Calls()
	layersOf(t, l, "app")
	if n := before["/containerd.services.content.v1.Content/Read"]; n != 3 {
		t.Errorf("%d reads after the first request, want index, manifest and config", n)
	}
	if n := fake.Calls()["/containerd.services.content.v1.Content/Read"]; n != 3 {
		t.Errorf("%d reads after further requests", n)
	}
	if absent := layersOf(t, l, "absent"); !reflect.DeepEqual(absent, timeline.Image{Ref: "absent", Layered: true}) {
		t.Errorf("got %+v", absent)
	}
}

func TestAtMost128Layers(t *testing.T) {
	fake := critest.Start(t, filepath.Join(t.TempDir(), "c.sock"), critest.Options{})
	var names []string
	for i := range 200 {
		names = append(names, fmt.Sprint(i))
	}
	built := putPulled(fake, "overlayfs", critest.Layers{Source: "docker.io/library/app", Names: names})
	l, _ := newResponder(t, fake)
	got := layersOf(t, l, "app").Layers
	if len(got) != 128 {
		t.Fatalf("%d layers", len(got))
	}
	last := (timeline.Layer{Digest: built.Layers[127], SizeBytes: 10, DownloadedAt: second(129),
		UnpackedAt: second(129.5)})
	if got[127] != last {
		t.Errorf("the last is %+v, want %+v", got[127], last)
	}
}
