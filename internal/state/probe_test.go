package state

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/zap"
)

func TestProbeChangesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made", "by probe")
	if err := Probe(path); err != nil {
		t.Fatal(err)
	}
	dir, err := Open(path, "node-1", zap.NewNop())
	if err != nil {
		t.Fatalf("an agent after the probe: %v", err)
	}
	if err := os.WriteFile(filepath.Join(path, fileName), []byte("state"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Probe(path); !errors.Is(err, ErrInUse) {
		t.Errorf("alongside a running agent: %v, want %v", err, ErrInUse)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Probe(path); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(path)
	if err != nil || len(entries) != 1 || entries[0].Name() != fileName {
		t.Errorf("leaves %v, %v", entries, err)
	}
	if text, err := os.ReadFile(filepath.Join(path, fileName)); string(text) != "state" {
		t.Errorf("the state is %q, %v", text, err)
	}
}

func TestProbeOfUnusableDirectory(t *testing.T) {
	for _, path := range []string{"/proc", "/proc/none"} {
		if err := Probe(path); err == nil || errors.Is(err, ErrInUse) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
