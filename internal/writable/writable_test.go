package writable

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := Directory(dir, ".trial-*"); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("leaves %v, %v", entries, err)
	}
	for _, path := range []string{filepath.Join(dir, "none"), "/proc"} {
		if err := Directory(path, ".trial-*"); err == nil {
			t.Errorf("%s: got no error", path)
		}
	}
}
