package cri

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/platforms"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/identity"
)

func TestChainIDs(t *testing.T) {
	a, b := digest.FromString("a"), digest.FromString("b")
	ab := identity.ChainID([]digest.Digest{a, b})
	const gzip, foreign, other = "application/vnd.oci.image.layer.v1.tar+gzip",
		"application/vnd.docker.image.rootfs.foreign.diff.tar.gzip", "application/vnd.example.model"
	for name, test := range map[string]struct {
		types   []string
		diffIDs []digest.Digest
		want    []digest.Digest
	}{
		"two layers":                {[]string{gzip, foreign}, []digest.Digest{a, b}, []digest.Digest{a, ab}},
		"something between":         {[]string{gzip, other, gzip}, []digest.Digest{a, b}, []digest.Digest{a, "", ab}},
		"fewer diff IDs":            {[]string{gzip, gzip}, []digest.Digest{a}, nil},
		"more diff IDs":             {[]string{gzip}, []digest.Digest{a, b}, nil},
		"an artifact, not an image": {[]string{other}, nil, nil},
		"nothing":                   {},
	} {
		var d document
		for _, mediaType := range test.types {
			d.Layers = append(d.Layers, descriptor{MediaType: mediaType})
		}
		before := slices.Clone(test.diffIDs)
		if got := d.chainIDs(test.diffIDs); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v\nwant %v", name, got, test.want)
		}
		if !slices.Equal(test.diffIDs, before) {
			t.Errorf("%s: the diff IDs were changed", name)
		}
	}
}

// FuzzParseManifest checks the guarantees of parseDocument for every valid input.
func FuzzParseManifest(f *testing.F) {
	some := digest.FromString("x").String()
	for _, seed := range []string{
		`{}`, `null`, `{"layers":null,"config":{"digest":"` + some + `"}}`,
		`{"config":{"digest":"` + some +
			`","size":7},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar","digest":"` + some +
			`","size":9}]}`,
		`{"manifests":[{"digest":"` + some +
			`","size":-1,"platform":{"os":"linux","architecture":"arm","variant":"v7"}},{"digest":"` + some + `"}]}`,
		`{"rootfs":{"type":"layers","diff_ids":["` + some + `","` + some + `"]}}`,
		`{"layers":{}}`, `{"layers":[` + strings.Repeat("{},", 2000) + `{}]}`, `{"config":{"digest":"sha512:x"}}`,
	} {
		f.Add([]byte(seed))
	}
	machine := platforms.Only(platforms.MustParse("linux/arm64"))
	f.Fuzz(func(t *testing.T, data []byte) {
		diffIDs, err := parseDiffIDs(data)
		if err == nil && len(diffIDs) > maxEntries {
			t.Errorf("%d diff IDs", len(diffIDs))
		}
		for _, id := range diffIDs {
			if err := id.Validate(); err != nil {
				t.Error(err)
			}
		}
		d, err := parseDocument(data)
		if err != nil {
			return
		}
		if !json.Valid(data) {
			t.Error("parsed invalid JSON")
		}
		if index := len(d.Manifests) > 0; index == (d.Config.Digest != "") {
			t.Errorf("neither an index nor a manifest: %+v", d)
		}
		for _, e := range slices.Concat(d.Manifests, d.Layers) {
			if e.Digest.Validate() != nil || e.Size < 0 || e.Size > maxSize {
				t.Errorf("entry %+v", e)
			}
		}
		if len(d.Manifests) > maxEntries || len(d.Layers) > maxEntries {
			t.Errorf("%d manifests, %d layers", len(d.Manifests), len(d.Layers))
		}
		for _, m := range d.forPlatform(machine) {
			if !slices.ContainsFunc(d.Manifests, func(e descriptor) bool { return e.Digest == m }) {
				t.Errorf("%s is not in the index", m)
			}
		}
		if chain := d.chainIDs(diffIDs); chain != nil && len(chain) != len(d.Layers) {
			t.Errorf("%d chain IDs for %d layers", len(chain), len(d.Layers))
		}
	})
}
