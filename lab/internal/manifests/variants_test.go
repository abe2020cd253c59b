package manifests

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestVariantsAreComplete(t *testing.T) {
	scratch, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	variants, err := Variants(directory(t), scratch)
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, v := range variants {
		have[v.Name] = true
		if !strings.Contains(v.Objects, "kind: DaemonSet") {
			t.Errorf("%s has no DaemonSet", v.Name)
		}
	}
	want := []string{"base", "chart", "chart with all"}
	for name := range overlays {
		want = append(want, "overlay "+name)
	}
	for _, name := range names(t, filepath.Join(directory(t), "components")) {
		want = append(want, "base "+name, "chart "+name)
	}
	for _, name := range want {
		if !have[name] {
			t.Errorf("no variant %s", name)
		}
	}
	if len(variants) != len(want) {
		t.Errorf("%d variants, want %d", len(variants), len(want))
	}
}
