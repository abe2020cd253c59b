package state

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/podlapse/podlapse/internal/recording"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// saverIn returns a saver, and unlocks the directory so that another agent can open it.
func saverIn(path string) (*Dir, *Saver, *observer.ObservedLogs, error) {
	core, logs := observer.New(zapcore.DebugLevel)
	d, err := Open(path, "node-1", zap.New(core))
	if err != nil {
		return nil, nil, logs, err
	}
	defer d.Close()
	k, err := d.NewSaver(Config{Node: "node-1",
		Header: recording.Header{Agent: "v1", Scope: timeline.Scope{Since: created}},
		Now:    time.Now,
		Report: func(bool, string) {}, Registerer: prometheus.NewRegistry(), Logger: zap.New(core)})
	return d, k, logs, err
}

// validFile returns the text of a state file that an agent wrote. The text consists of one section, or of two sections
// if "appended" is true.
func validFile(t testing.TB, appended bool) []byte {
	t.Helper()
	path := t.TempDir()
	_, k, _, err := saverIn(path)
	if err != nil {
		t.Fatal(err)
	}
	k.Observe(seen("a", 1, ""), true)
	k.Observe(event("a", 2, "x"), true)
	k.Reported("b")
	k.Reported("c")
	if !appended {
		k.size = 0
	}
	if err := k.save(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(path, fileName))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func resealed(text string) string {
	body := text[:strings.LastIndex(text[:len(text)-1], "\n")+1]
	end, _ := seal(checksum(0, []byte(body)))
	return body + string(end)
}

func TestNextAgentLoadsState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made", "of", "nothing")
	if _, _, _, err := saverIn(path); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]os.FileMode{path: 0o700 | os.ModeDir, filepath.Join(path, fileName): 0o600} {
		if info, err := os.Stat(file); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", file, info.Mode(), err)
		}
	}
	d, k, _, err := saverIn(path)
	if err != nil || !reflect.DeepEqual(d.Contents, Contents{Since: created}) {
		t.Fatalf("in a new directory: %+v, %v", d.Contents, err)
	}
	k.Observe(seen("a", 1, ""), true)
	k.Reported("b")
	k.SetEventsUntil(after(7).Local())
	if err := k.save(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, ".state.jsonl123"), []byte("half a wri"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		d, _, logs, err := saverIn(path)
		want := Contents{created, []timeline.Observation{seen("a", 1, "")}, []string{"b"}, nil, after(7)}
		if err != nil || !reflect.DeepEqual(d.Contents, want) || logs.Len() > 0 {
			t.Errorf("found %+v, %v; want %+v", d.Contents, err, want)
		}
	}
	if entries, _ := os.ReadDir(path); len(entries) != 1 {
		t.Errorf("the directory contains %v", entries)
	}
}

func TestUnusableFiles(t *testing.T) {
	text := string(validFile(t, false))
	write := func(text string) func(string) error {
		return func(path string) error { return os.WriteFile(path, []byte(text), 0o600) }
	}
	change := func(old, with string) func(string) error {
		if !strings.Contains(text, old) {
			t.Fatalf("no %s in %s", old, text)
		}
		return write(resealed(strings.Replace(text, old, with, 1)))
	}
	elsewhere := filepath.Join(t.TempDir(), "precious")
	if err := write(text)(elsewhere); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		put  func(path string) error
		want string
	}{
		"empty":          {write(""), "not a podlapse state file"},
		"something else": {write("hello\nworld\n"), "not a podlapse state file"},
		"a recording":    {write(`{"kind":"header","version":1}` + "\n"), "not a podlapse state file"},
		"from another node": {change(`"node":"node-1"`, `"node":"node-2"`),
			`belongs to node "node-2", but the agent runs on node "node-1"`},
		"from a newer agent": {change(`"version":2,"node"`, `"version":3,"node"`),
			"unknown format version 3: must be 1 to 2"},
		"a newer recording format": {change(`"header","version":3`, `"header","version":99`), "format version 99"},
		"without a recording":      {change(`"kind":"header"`, `"kind":"footer"`), "not a recording"},
		"a truncated line":         {write(text[:len(text)-9]), "is truncated"},
		"a missing line":           {write(text[:strings.LastIndex(text[:len(text)-1], "\n")+1]), "is truncated"},
		"only the header":          {write(text[:strings.Index(text, "\n")+1]), "is truncated"},
		"a changed byte":           {write(strings.Replace(text, "ns", "nz", 1)), "damaged: the checksum is"},
		"zeros, as after a crash":  {write(string(make([]byte, len(text)))), "not a podlapse state file"},
		"an unknown observation":   {change(`"pod_seen"`, `"pod_felt"`), `unknown kind "pod_felt"`},
		"a pod without a name":     {change(`"uid":"b"`, `"uid":""`), `the field "uid" is missing`},
		"too large":                {write(text + strings.Repeat("\n", maxFile)), "larger than 16 MiB"},
		"a directory": {func(path string) error { return os.MkdirAll(filepath.Join(path, "x"), 0o700) },
			"not a regular file ("},
		"a symbolic link": {func(path string) error { return os.Symlink(elsewhere, path) },
			"not a regular file ("},
		"a pipe": {func(path string) error { return syscall.Mkfifo(path, 0o600) },
			"not a regular file ("},
	} {
		path := t.TempDir()
		file := filepath.Join(path, fileName)
		for attempt, before := range []func(string) error{
			func(string) error { return nil },
			func(bad string) error { return os.MkdirAll(filepath.Join(bad, "older"), 0o700) },
			func(bad string) error { return os.WriteFile(bad, []byte("older"), 0o600) },
		} {
			for _, err := range []error{os.RemoveAll(file), os.RemoveAll(file + badSuffix), before(file + badSuffix),
				test.put(file)} {
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			kind, _ := os.Lstat(file)
			d, _, logs, err := saverIn(path)
			if err != nil || !reflect.DeepEqual(d.Contents, Contents{}) {
				t.Errorf("%s: %+v, %v", name, d.Contents, err)
				continue
			}
			warned := logs.All()
			if len(warned) != 1 || warned[0].Level != zapcore.WarnLevel || warned[0].ContextMap()["path"] != file ||
				!strings.Contains(fmt.Sprint(warned[0].ContextMap()["reason"]), test.want) {
				t.Errorf("%s: logged %v, want %q", name, warned, test.want)
			}
			if bad, err := os.Lstat(file + badSuffix); err != nil || bad.Mode() != kind.Mode() {
				t.Errorf("%s, attempt %d: set aside as %v, %v", name, attempt, bad, err)
			}
			if again, _, logs, err := saverIn(path); err != nil || logs.Len() > 0 || again.Since != created {
				t.Errorf("%s: the next agent finds %+v, %v, %v", name, again, logs.All(), err)
			}
		}
	}
	if after, err := os.ReadFile(elsewhere); err != nil || string(after) != text {
		t.Error("the file behind the link was changed")
	}
}

func TestUnusableDirectories(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		file: "create the directory", filepath.Join(file, "below"): "create the directory",
		"/proc/none": "create the directory",
		"/proc":      "save /proc/state.jsonl",
	} {
		if _, _, _, err := saverIn(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// FuzzParse reads arbitrary input, with and without a valid checksum. The parser must not panic or invent
// observations. A saver must save all parsed data so that the next agent finds it again.
func FuzzParse(f *testing.F) {
	for _, appended := range []bool{false, true} {
		text := validFile(f, appended)
		f.Add(text)
		f.Add(text[:len(text)/2])
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		_, _ = parse(text, "node-1")
		end, _ := seal(checksum(0, text))
		c, err := parse(slices.Concat(text, end), "node-1")
		if err != nil {
			return
		}
		if n := len(c.InFlight) + len(c.Reported); n > len(text) {
			t.Errorf("%d of %d bytes", n, len(text))
		}
		b := newBench(t, c)
		again := b.saved(t)
		if len(again.Reported) > len(c.Reported) || len(again.InFlight) > len(c.InFlight) {
			t.Errorf("found\n%+v\nleft\n%+v", c, again)
		}
	})
}

func TestDirectoryIsLocked(t *testing.T) {
	path := t.TempDir()
	first, err := Open(path, "node-1", zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, "node-1", zap.NewNop()); err == nil ||
		!strings.Contains(err.Error(), "another agent uses this directory") {
		t.Errorf("a second agent: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := Open(path, "node-1", zap.NewNop())
	if err != nil {
		t.Fatalf("after the first agent has stopped: %v", err)
	}
	defer second.Close()
}
