package prereq

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/lab/internal/progress"
)

// putProgram writes a shell script that prints a text.
func putProgram(t *testing.T, path, prints string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho '"+prints+"'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestContainerdOfDebian(t *testing.T) {
	cache := t.TempDir()
	built, debian := filepath.Join(cache, "runtime-1"), filepath.Join(cache, "containerd-debian/usr/bin")
	for _, name := range []string{"containerd", "runc"} {
		putProgram(t, filepath.Join(built, name), "built")
	}
	putProgram(t, filepath.Join(debian, "containerd"), "containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20")
	if _, err := Containerd(t.Context(), progress.New(io.Discard), cache, built, "1.7"); err == nil ||
		!strings.Contains(err.Error(), "containerd 1.7 of Debian 12") {
		t.Errorf("with another version, the error is %v", err)
	}
	stale := filepath.Join(cache, "containerd-debian-1") // the links of a cache that was moved
	if err := errors.Join(os.Mkdir(stale, 0o755), os.Symlink("/old/runc", filepath.Join(stale, "runc"))); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		dir, err := Containerd(t.Context(), progress.New(io.Discard), cache, built, "1.6")
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"containerd": debian, "runc": built} {
			if got, err := os.Readlink(filepath.Join(dir, name)); err != nil || got != filepath.Join(want, name) {
				t.Errorf("%s is a link to %s, %v, want %s", name, got, err, want)
			}
		}
	}
}

func TestUnusableContainerdIsNamed(t *testing.T) {
	cache := t.TempDir()
	path := filepath.Join(cache, "containerd-debian/usr/bin/containerd")
	putProgram(t, path, "")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho 'no GLIBC' >&2; exit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := Containerd(t.Context(), progress.New(io.Discard), cache, filepath.Join(cache, "runtime-1"), "1.6")
	if err == nil || !strings.Contains(err.Error(), "no GLIBC") || !strings.Contains(err.Error(), "delete") {
		t.Errorf("error %v does not name the cause and the remedy", err)
	}
}

func TestContainerdWithoutAptGet(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	cache := t.TempDir()
	_, err := Containerd(t.Context(), progress.New(io.Discard), cache, filepath.Join(cache, "runtime-1"), "1.6")
	if err == nil || !strings.Contains(err.Error(), "Debian 12") {
		t.Errorf("error %v does not name the remedy", err)
	}
}
