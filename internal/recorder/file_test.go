package recorder

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/internal/recording"
)

func TestOpenFileCreatesPrivateFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new.jsonl")
	file, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.out.Close()
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 || info.Size() != 0 {
		t.Errorf("made %v, %v", info, err)
	}
}

func TestOpenFileAppends(t *testing.T) {
	for name, test := range map[string]struct{ before, after string }{
		"whole":                    {header1 + line, header1 + line},
		"truncated line":           {header1 + line + line[:7], header1 + line},
		"truncated first line":     {header1 + line[:7], header1},
		"nothing but a header":     {header1, header1},
		"zeros after a power loss": {header1 + line + strings.Repeat("\x00", 4096), header1 + line},
	} {
		path := filepath.Join(t.TempDir(), "r.jsonl")
		if err := os.WriteFile(path, []byte(test.before), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := OpenFile(path)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if file.size != int64(len(test.after)) {
			t.Errorf("%s: continues at %d, want %d", name, file.size, len(test.after))
		}
		if err := file.begin([]byte(header1)); err != nil {
			t.Error(err)
		}
		file.out.Close()
		if got, err := os.ReadFile(path); err != nil || string(got) != test.after+header1 {
			t.Errorf("%s: %v, the file is %q", name, err, got)
		}
	}
}

func TestOpenFileRefuses(t *testing.T) {
	dir := t.TempDir()
	path := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, test := range []struct{ path, want string }{
		{dir, "is a directory"},
		{filepath.Join(dir, "none", "r"), "no such file"},
		{"/dev/null", "is not a regular file"},
		{path("a", "root:x:0:0\n"), "the file does not begin with a valid header of a recording, so choose another"},
		{path("b", "no line end"), "does not begin with a valid header of a recording"},
		{path("c", `{"kind":"header","version":9}`+"\n"), "unknown format version 9"},
		{path("d", header1+strings.Repeat("x", recording.MaxLine)), "the last line of the file has more than"},
	} {
		before, _ := os.ReadFile(test.path)
		_, err := OpenFile(test.path)
		if err == nil || !strings.Contains(err.Error(), test.path) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.path, err, test.want)
		}
		if after, _ := os.ReadFile(test.path); string(after) != string(before) {
			t.Errorf("%s was changed", test.path)
		}
	}
}
