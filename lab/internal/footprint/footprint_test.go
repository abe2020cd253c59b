package footprint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseMount(t *testing.T) {
	line := `610 29 0:50 / /var/lib/pod\040lapse/shm rw,nosuid shared:1 master:2 - tmpfs shm rw,size=65536k`
	m, ok := parseMount(line)
	if !ok || m.point != "/var/lib/pod lapse/shm" || m.kind != "tmpfs" || m.source != "shm" {
		t.Errorf("got %+v, %v", m, ok)
	}
	for _, broken := range []string{"", "1 2 3 - a b", "610 29 0:50 / /point rw"} {
		if _, ok := parseMount(broken); ok {
			t.Errorf("%q is accepted", broken)
		}
	}
}

func TestBelow(t *testing.T) {
	dirs := []string{"/run/podlapse-lab", "/var/lib/podlapse-lab"}
	for path, want := range map[string]bool{"/run/podlapse-lab": true, "/run/podlapse-lab/s": true,
		"/run/podlapse-lab-2/s": false, "/run": false, "/var/lib/podlapse-lab/a/b": true} {
		if below(path, dirs) != want {
			t.Errorf("%s: want %v", path, want)
		}
	}
}

func TestRemoveLinksKeepsOtherLinks(t *testing.T) {
	dir, state := t.TempDir(), "/var/lib/podlapse-lab"
	for name, target := range map[string]string{"ours": state + "/pod-logs/a", "theirs": "/var/log/pods/a"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	removeLinks(dir, state)
	left, _ := os.ReadDir(dir)
	if len(left) != 1 || left[0].Name() != "theirs" {
		t.Errorf("left: %v", left)
	}
}

func TestRestoreRemovesOnlyKnownDirectories(t *testing.T) {
	dir := t.TempDir()
	if err := (Before{Absent: []string{dir}}).Restore("/nowhere", "no-network"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error("a directory that is not in the built-in list was removed")
	}
}

func TestSaveAndLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "before")
	if none, err := Load(path); err != nil || len(none.Absent) != 0 {
		t.Errorf("without a file: %+v, %v", none, err)
	}
	want := Observe()
	if err := want.Save(path); err != nil {
		t.Fatal(err)
	}
	got, err := Load(path)
	if err != nil || len(got.Absent) != len(want.Absent) || len(got.Settings) != len(want.Settings) ||
		(got.Controllers == nil) != (want.Controllers == nil) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestContainers(t *testing.T) {
	state, runc := t.TempDir(), t.TempDir()
	id := strings.Repeat("0123456789abcdef", 4)
	for _, dir := range []string{filepath.Join(state, "io.containerd.runtime.v2.task", "k8s.io", id),
		filepath.Join(state, "io.containerd.runtime.v2.task", "k8s.io", "lock"), filepath.Join(runc, "k8s.io", id)} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if ids := Containers(state, runc); len(ids) != 1 || ids[0] != id {
		t.Errorf("got %v", ids)
	}
}
