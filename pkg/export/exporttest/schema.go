// Package exporttest checks what leaves the agent: records against their JSON schemas, and
// transition records against the timelines that they were made from.
package exporttest

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The schemas, from the repository's root.
const (
	transitionSchema = "pkg/export/testdata/transition.schema.json"
	timelineSchema   = "docs/records.schema.json"
)

// Schema checks lines.
type Schema struct{ schema *jsonschema.Schema }

// TransitionSchema is the schema of kube-transition-metrics' records.
func TransitionSchema(t testing.TB) Schema {
	t.Helper()
	return read(t, filepath.Join(root(t), transitionSchema))
}

// TimelineSchema is that of our own records.
func TimelineSchema(t testing.TB) Schema {
	t.Helper()
	return read(t, filepath.Join(root(t), timelineSchema))
}

// TerminationSchema is that of the lines about ends of pods, a part of the other's file.
func TerminationSchema(t testing.TB) Schema {
	t.Helper()
	return readPart(t, filepath.Join(root(t), timelineSchema), "#/$defs/termination_line")
}

// root is the directory of our module, above the test's own.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, timelineSchema)); err == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	t.Fatalf("no %s above", timelineSchema)
	return ""
}

func read(t testing.TB, path string) Schema {
	t.Helper()
	return readPart(t, path, "")
}

func readPart(t testing.TB, path, part string) Schema {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat() // date-time is more than a note
	if err := compiler.AddResource(path, document); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	schema, err := compiler.Compile(path + part)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return Schema{schema}
}

// Check fails the test when the line is no such record.
func (s Schema) Check(t testing.TB, line []byte) {
	t.Helper()
	if err := s.Validate(line); err != nil {
		t.Errorf("%s%v", line, err)
	}
}

// Validate says why a line is no such record.
func (s Schema) Validate(line []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	if err != nil {
		return err
	}
	return s.schema.Validate(value)
}
