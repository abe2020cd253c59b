package recording

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	header1 = `{"kind":"header","version":1,"runtime":true}` + "\n"
	gone    = `{"kind":"pod_gone","uid":"u","arrived_at":"2026-03-01T12:00:00Z"}` + "\n"
)

// read returns the number of observations before an error. The error is nil at the end of the input.
func read(in io.Reader) (int, error) {
	reader := NewReader(in)
	for n := 0; ; n++ {
		_, err := reader.Next()
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

func TestReaderTolerates(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want int
	}{
		"a header alone":         {header1, 0},
		"no line end at the end": {header1 + strings.TrimSuffix(gone, "\n"), 1},
		"empty lines":            {"\n" + header1 + "\n  \r\n" + gone + "\n\n", 1},
		"Windows line ends":      {strings.ReplaceAll(header1+gone, "\n", "\r\n"), 1},
		"a second session":       {header1 + gone + header1 + gone, 2},
		"newer fields": {
			header1 + `{"kind":"pod_gone","uid":"u","arrived_at":"2026-03-01T13:00:00+01:00","why":{"deep":[1]}}` +
				"\n", 1,
		},
		"the longest line": {header1 + gone[:len(gone)-2] + strings.Repeat(" ", MaxLine-len(gone)) + "}\n", 1},
	} {
		if got, err := read(strings.NewReader(test.text)); got != test.want || err != nil {
			t.Errorf("%s: got %d observations, %v; want %d", name, got, err, test.want)
		}
	}
}

func TestReaderRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "line 1: the input is empty, so it is not a recording",
		"\n\n":                   "the input is empty, so it is not a recording",
		"hello\n":                "line 1: the input is not a recording: invalid header: invalid character 'h'",
		`{"kind":"header","vers`: "line 1: the input is not a recording: invalid header: unexpected end",
		gone: `line 1: the input is not a recording: invalid header: must be {"kind":"header","version":3}, ` +
			`got kind "pod_gone"`,
		`{"kind":"header"}` + "\n": "line 1: the input is not a recording: invalid header: " +
			`"version" must be 1 to `,
		header1 + `{"kind":"header","version":7}`: "line 2: unknown format version 7: must be 1 to 3: use the " +
			"podlapse-agent version that made this recording, or a newer version",
		header1 + gone + `{"kind":"node_seen"}` +
			"\n": `line 3: the observation has the unknown kind "node_seen": use the podlapse-agent`,
		header1 + "[]\n":        "line 2: json: cannot unmarshal array",
		header1 + "{\n" + gone:  "line 2: unexpected end of JSON input",
		header1 + gone + "{}\n": `line 3: the observation has the unknown kind ""`,
		header1 + `{"kind":"pod_gone"}` + "\n": "line 2: the observation has no \"uid\": set \"uid\" to " +
			"the UID of a pod",
		header1 + `{"kind":"pod_gone","uid":"u"}`: "line 2: the observation has no \"arrived_at\": set " +
			"\"arrived_at\" to a time",
		header1 + strings.Replace(gone, "2026-03-01T12:00:00Z", "yesterday", 1): "line 2: parsing time",
		header1 + strings.Replace(gone, "2026", "1969", 1): "line 2: invalid year 1969 in a " +
			"timestamp: must be 1970 to 2261",
		header1 + strings.Repeat(" ", MaxLine) + gone: "line 2: the line is longer than 1048576 bytes",
		header1 + `{"kind":"event_seen","uid":"u","count":1e99}`: "line 2: json: cannot unmarshal " +
			"number 1e99",
	} {
		if got, err := read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) ||
			errors.Is(err, ErrTruncated) {
			t.Errorf("%.100q: got %d observations, %v; want %q", text, got, err, want)
		}
	}
}

func TestReaderDistinguishesTruncatedLine(t *testing.T) {
	for end := 1; end < len(gone)-1; end++ {
		got, err := read(strings.NewReader(header1 + gone + gone[:end]))
		if got != 1 || !errors.Is(err, ErrTruncated) || !strings.HasPrefix(err.Error(), "line 3: ") {
			t.Fatalf("truncated after %d bytes: got %d observations, %v", end, got, err)
		}
	}
	failing := io.MultiReader(strings.NewReader(header1+gone), iotest.ErrReader(errors.New("disk on fire")))
	if got, err := read(failing); got != 1 || err == nil || errors.Is(err, ErrTruncated) ||
		!strings.Contains(err.Error(), "disk on fire") {
		t.Errorf("got %d observations, %v", got, err)
	}
}

// FuzzRead reads arbitrary input. The reader and the fold must not panic, and errors must name the line. If the
// test writes an observation and reads it again, the observation must be the same.
func FuzzRead(f *testing.F) {
	recorded, err := os.ReadFile("testdata/cold-start.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(recorded)
	f.Fuzz(func(t *testing.T, text []byte) {
		reader := NewReader(bytes.NewReader(text))
		for {
			o, err := reader.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				if !strings.HasPrefix(err.Error(), fmt.Sprintf("line %d: ", max(reader.line, 1))) {
					t.Errorf("%v at line %d", err, reader.line)
				}
				break
			}
			line, err := Encode(o)
			if err != nil && len(text) < MaxLine/8 { // escapes can make a line longer
				t.Fatalf("read but not written: %v in %+v", err, o)
			}
			again, err := readOne(line)
			if err != nil || !reflect.DeepEqual(again, o) {
				t.Fatalf("%v, read\n%+v\nand again\n%+v", err, o, again)
			}
		}
		_, _ = Replay(NewReader(bytes.NewReader(text)))
	})
}

func readOne(line []byte) (timeline.Observation, error) {
	return NewReader(io.MultiReader(strings.NewReader(header1), bytes.NewReader(line))).Next()
}

// Agents up to v0.1 recorded messages without redaction.
func TestOldRecordingsAreRedacted(t *testing.T) {
	const text = `{"kind":"header","version":1}
{"kind":"event_seen","uid":"u","arrived_at":"2026-03-01T12:00:00Z","reason":"Failed","message":"Head ` +
		`https://user:hunter2@registry.example/v2/: EOF"}
{"kind":"event_seen","uid":"u","arrived_at":"2026-03-01T12:00:00Z","reason":"Unhealthy","message":"Readiness probe ` +
		`failed: hunter2"}
`
	reader := NewReader(strings.NewReader(text))
	for _, want := range []string{"Head https://REDACTED@registry.example/v2/: EOF", "Readiness probe failed: …"} {
		o, err := reader.Next()
		if seen, ok := o.(timeline.EventSeen); err != nil || !ok || seen.Message != want {
			t.Errorf("read %+v, %v; want %q", o, err, want)
		}
	}
}
