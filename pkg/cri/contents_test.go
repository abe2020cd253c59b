package cri

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	"k8s.io/utils/lru"

	"github.com/podlapse/podlapse/internal/critest"
)

// TestHostileManifests reads hostile manifests of images on the node. A manifest must not need many resources, and
// must not make the response fail.
func TestHostileManifests(t *testing.T) {
	config := digest.FromString("config").String()
	layer := `{"mediaType":"application/vnd.oci.image.layer.v1.tar","digest":"` + config + `","size":%s}`
	sized := func(size string) []byte {
		return fmt.Appendf(nil, `{"config":{"digest":%q,"size":1},"layers":[`+layer+`]}`, config, size)
	}
	for name, test := range map[string]struct {
		data []byte
		want int // number of layers
		size int64
	}{
		"nothing":         {},
		"garbage":         {data: []byte("\x00\xff garbage")},
		"no object":       {data: []byte(`[1]`)},
		"empty object":    {data: []byte(`{}`)},
		"cut off":         {data: sized("1")[:60]},
		"negative size":   {data: sized("-1"), want: 1},
		"impossible size": {data: sized("9223372036854775807"), want: 1},
		"size too large":  {data: sized("92233720368547758070")},
		"size as text":    {data: sized(`"1"`)},
		"largest size":    {data: sized("1125899906842624"), want: 1, size: 1 << 50},
		"hostile digest":  {data: []byte(`{"config":{"digest":"sha256:../../etc/passwd"},"layers":[]}`)},
		"index and manifest": {data: fmt.Appendf(nil,
			`{"config":{"digest":%q},"layers":[],"manifests":[{"digest":%q}]}`,
			config, config)},
		"too many layers": {data: fmt.Appendf(nil, `{"config":{"digest":%q},"layers":[%s{}]}`, config,
			strings.Repeat("{},", 1<<20))},
		"too large": {data: slices.Concat(sized("1"), []byte(strings.Repeat(" ", 5<<20)))},
	} {
		t.Run(name, func(t *testing.T) {
			fake := critest.Start(t, filepath.Join(t.TempDir(), "c.sock"), critest.Options{})
			target := fake.PutBlob(critest.Blob{Data: test.data, CreatedAt: second(1)})
			imageNamed(fake, target)
			l, _ := newResponder(t, fake)
			for range 2 {
				got := layersOf(t, l, "app")
				if got.ResolvedAt != second(1) || len(got.Layers) != test.want {
					t.Fatalf("got %+v, want %d layers", got, test.want)
				}
				if test.want > 0 && got.Layers[0].SizeBytes != test.size {
					t.Errorf("got %+v, want %d bytes", got.Layers[0], test.size)
				}
			}
		})
	}
}

// TestCyclicIndexes checks the limit on the depth of indexes with a store that returns cycles.
func TestCyclicIndexes(t *testing.T) {
	target := digest.FromString("index")
	reads := 0
	c := catalog{known: lru.New(1), machine: thisMachine,
		readBlob: func(context.Context, digest.Digest) ([]byte, error) {
			reads++
			return fmt.Appendf(nil, `{"manifests":[{"digest":%q},{"digest":%q}]}`, target, target), nil
		}}
	for range 2 {
		if found, err := c.contentsOf(t.Context(), target); err != nil || found.manifest != "" {
			t.Fatalf("found %+v, %v", found, err)
		}
	}
	if reads != maxIndexes+1 {
		t.Errorf("%d reads", reads)
	}
}

func TestMissingContentIsNotCached(t *testing.T) {
	there := map[digest.Digest]string{}
	c := catalog{known: lru.New(8), machine: thisMachine,
		readBlob: func(_ context.Context, d digest.Digest) ([]byte, error) {
			data, ok := there[d]
			if !ok {
				return nil, errAbsent
			}
			return []byte(data), nil
		}}
	put := func(data string) digest.Digest {
		there[digest.FromString(data)] = data
		return digest.FromString(data)
	}
	diff := digest.FromString("diff")
	configData := fmt.Sprintf(`{"rootfs":{"diff_ids":[%q]}}`, diff)
	config := digest.FromString(configData)
	manifestData := fmt.Sprintf(
		`{"config":{"digest":%q,"size":9},"layers":[{"mediaType":"application/vnd.docker.image.rootfs.diff.tar.gzip",`+
			`"digest":%q}]}`,
		config,
		diff,
	)
	manifest := digest.FromString(manifestData)
	// The first matching manifest is absent, so containerd used the second manifest.
	index := put(fmt.Sprintf(`{"manifests":[{"digest":%q},{"digest":%q}]}`, digest.FromString("other"), manifest))

	if _, err := c.contentsOf(t.Context(), index); !errors.Is(err, errAbsent) {
		t.Errorf("%v without a manifest", err)
	}
	put(manifestData)
	found, err := c.contentsOf(t.Context(), index)
	if err != nil || found.complete || len(found.layers) != 1 || found.layers[0].chainID != "" {
		t.Errorf("found %+v, %v without a config", found, err)
	}
	put(configData)
	want := imageContents{manifest: manifest, config: blob{config, 9}, layers: []layer{{blob{diff, 0}, diff}},
		complete: true}
	if found, err := c.contentsOf(t.Context(), index); err != nil || !reflect.DeepEqual(found, want) {
		t.Errorf("found %+v, %v\nwant %+v", found, err, want)
	}
	clear(there)
	if found, err := c.contentsOf(t.Context(), index); err != nil || !reflect.DeepEqual(found, want) {
		t.Errorf("immutable content is not cached: %+v, %v", found, err)
	}
}
