package state

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/zap"
)

func TestSumsFile(t *testing.T) {
	path := t.TempDir()
	if err := os.WriteFile(filepath.Join(path, ".sums.json123"), []byte("interrupted"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := Open(path, "a", zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	if text, err := d.Sums(); text != nil || err != nil {
		t.Errorf("without a file: %q, %v", text, err)
	}
	for _, want := range []string{"first", "second"} {
		if err := d.SaveSums([]byte(want)); err != nil {
			t.Fatal(err)
		}
		if text, err := d.Sums(); string(text) != want || err != nil {
			t.Errorf("%q, %v, want %q", text, err, want)
		}
	}
	files, err := os.ReadDir(path)
	if err != nil || len(files) != 1 {
		t.Errorf("%v, %v: want one file", files, err)
	}
	info, err := os.Stat(filepath.Join(path, sumsName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.Remove(filepath.Join(path, sumsName)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(path, sumsName), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Sums(); err == nil {
		t.Error("a directory is not an error")
	}
}
