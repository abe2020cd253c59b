package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/internal/terminal"
)

const coldStart = "../recording/testdata/cold-start.jsonl"

func replayed(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), append([]string{"replay"}, args...), environment{}.get, &out, &errs)
	return code, out.String(), errs.String()
}

func recordingFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "recording.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReplayPrintsWaterfall(t *testing.T) {
	want, err := os.ReadFile(strings.TrimSuffix(coldStart, "jsonl") + "txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{coldStart}, {"--pod", "shop/web-0", "-o", "waterfall", coldStart}} {
		if code, stdout, stderr := replayed(t, args...); code != ExitOK || stdout != string(want) || stderr != "" {
			t.Errorf("%q: exit %d, stderr %q, stdout\n%s", args, code, stderr, stdout)
		}
	}
}

// TestReplayFitsWidth checks that --width limits all lines.
func TestReplayFitsWidth(t *testing.T) {
	for _, width := range []int{minWidth, 70, 80, 100} {
		code, stdout, stderr := replayed(t, "--width", strconv.Itoa(width), coldStart)
		if code != ExitOK || stdout == "" {
			t.Errorf("exit %d, %s", code, stderr)
		}
		for line := range strings.Lines(stdout) {
			if cells := terminal.Cells(strings.TrimSuffix(line, "\n")); cells > width {
				t.Errorf("--width=%d: a line has %d cells: %q", width, cells, line)
			}
		}
	}
}

func TestReplayReadsStandardInput(t *testing.T) {
	file, err := os.Open(coldStart)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	stdin := os.Stdin
	os.Stdin = file
	defer func() { os.Stdin = stdin }()
	if code, stdout, stderr := replayed(t, "-o=json", "-"); code != ExitOK || strings.Count(stdout, "\n") != 1 ||
		!strings.HasPrefix(stdout, `{"`) || !strings.Contains(stdout, `"name":"web-0"`) {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

func TestReplayOfManyPods(t *testing.T) {
	one, err := os.ReadFile(coldStart)
	if err != nil {
		t.Fatal(err)
	}
	// In a second session of the agent, another pod had the same name.
	path := recordingFile(t, string(one)+strings.ReplaceAll(string(one), "uid-web-0", "uid-2"))
	if code, stdout, stderr := replayed(t, path); code != ExitOK ||
		strings.Count(stdout, "shop/web-0: 2.9 s to ready") != 2 ||
		!strings.Contains(stdout, "\n\nshop/web-0") {
		t.Errorf("exit %d, stderr %q, stdout\n%s", code, stderr, stdout)
	}
	if code, stdout, stderr := replayed(t, "-o", "json", path); code != ExitOK || strings.Count(stdout, "}\n") != 2 {
		t.Errorf("exit %d, stderr %q, stdout\n%s", code, stderr, stdout)
	}
}

func TestReplayToleratesTruncatedLastLine(t *testing.T) {
	whole, err := os.ReadFile(coldStart)
	if err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := replayed(t, recordingFile(t, string(whole[:len(whole)-20])))
	if code != ExitOK || !strings.Contains(stdout, " s to ready") ||
		!strings.Contains(stderr, "line 7: the last line is incomplete") {
		t.Errorf("exit %d, stderr %q, stdout\n%s", code, stderr, stdout)
	}
}

func TestReplayFails(t *testing.T) {
	const header = `{"kind":"header","version":1}` + "\n"
	for name, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no file":   {nil, ExitUsage, "FILE is required"},
		"two files": {[]string{coldStart, coldStart}, ExitUsage, "unexpected argument"},
		"a wrong pod": {[]string{"--pod", "web-0", coldStart}, ExitUsage,
			`--pod: invalid pod "web-0": must be NAMESPACE/POD`},
		"a wrong output": {[]string{"-o", "xml", coldStart}, ExitUsage,
			`-o: invalid value "xml": must be waterfall or json`},
		"a small width": {[]string{"--width=59", coldStart}, ExitUsage,
			`invalid width "59": must be 60 to 1023 columns`},
		"no such file": {[]string{"/does/not/exist"}, ExitFailed, "open recording: open /does/not/exist: no such " +
			"file or directory: give the path of a recording that you can read"},
		"a directory": {[]string{"/"}, ExitFailed, "replay: / is a directory: give the path of a recording file"},
		"no such pod": {[]string{"--pod=shop/web-1", coldStart}, ExitFailed, "does not contain pod shop/web-1"},
		"not a recording": {
			[]string{recordingFile(t, `{"apiVersion":"v1"}`)}, ExitFailed,
			"recording.jsonl: line 1: the input is not a recording: ",
		},
		"a broken line": {
			[]string{recordingFile(t, header+"{}}\n"+header)}, ExitFailed,
			"recording.jsonl: line 2: invalid character '}'",
		},
		"a newer format": {
			[]string{recordingFile(t, `{"kind":"header","version":99}`)}, ExitFailed, "unknown format version 99",
		},
		"no pods": {[]string{recordingFile(t, header)}, ExitFailed, "does not contain any pods"},
	} {
		code, stdout, stderr := replayed(t, test.args...)
		if code != test.code || stdout != "" || !strings.Contains(stderr, test.want) {
			t.Errorf("%s: exit %d, stdout %q, stderr %q; want %q", name, code, stdout, stderr, test.want)
		}
	}
}
