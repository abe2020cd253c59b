package registry

import (
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func hashOf(t *testing.T) v1.Hash {
	t.Helper()
	hash, err := v1.NewHash("sha256:" + strings.Repeat("0", 64))
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

func FuzzParsePath(f *testing.F) {
	f.Add("/v2/a/b/blobs/sha256:1")
	f.Add("/v2/")
	f.Fuzz(func(t *testing.T, path string) {
		repository, kind, reference := parsePath(path)
		if kind != KindOther && !strings.HasSuffix(path, reference) {
			t.Errorf("%q: %q %q %q", path, repository, kind, reference)
		}
	})
}
