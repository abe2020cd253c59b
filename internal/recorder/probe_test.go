package recorder

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/internal/recording"
)

func TestProbeChangesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r.jsonl")
	if err := Probe(path); err != nil {
		t.Errorf("a new file: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("leaves %v, %v", entries, err)
	}
	unfinished := header1 + line + line[:7] // a running agent may be about to write the rest of the line
	if err := os.WriteFile(path, []byte(unfinished), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Probe(path); err != nil {
		t.Errorf("a recording: %v", err)
	}
	if text, err := os.ReadFile(path); string(text) != unfinished {
		t.Errorf("the recording is %q, %v", text, err)
	}
}

func TestProbeRefuses(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other")
	if err := os.WriteFile(other, []byte("root:x:0:0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ path, want string }{
		{dir, "is a directory"},
		{filepath.Join(dir, "none", "r"), "no such file"},
		{"/proc/none", "create a file"},
		{other, "does not begin with a valid header of a recording"},
	} {
		if err := Probe(test.path); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.path, err, test.want)
		}
	}
}

func TestProbeRefusesFullFilesAndLinks(t *testing.T) {
	dir := t.TempDir()
	full, nearlyFull := filepath.Join(dir, "full.jsonl"), filepath.Join(dir, "nearly-full.jsonl")
	writeSparse(t, full, MaxFile)
	writeSparse(t, nearlyFull, MaxFile-recording.MaxLine+1)
	link, absent := filepath.Join(dir, "link"), filepath.Join(dir, "none", "r.jsonl")
	if err := os.Symlink(filepath.Join("none", "r.jsonl"), link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		full:       "the file has reached its limit of 256 MiB",
		nearlyFull: "the file has almost reached its limit of 256 MiB",
		dir:        "is a directory",
		link:       "no such file or directory", // the directory of the target is missing
		absent:     "no such file or directory",
	} {
		if err := Probe(path); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Count(err.Error(), path) > 1 {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
}

// writeSparse writes a recording of the given size. The recording has only two lines and a hole between them.
func writeSparse(t *testing.T, path string, size int64) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for at, text := range map[int64]string{0: header1, size - int64(len(line)) - 1: "\n" + line} {
		if _, err := file.WriteAt([]byte(text), at); err != nil {
			t.Fatal(err)
		}
	}
}
