// Package exporttest checks the output of the agent: records against their JSON schemas, and
// transition records against their timelines.
package exporttest

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The schemas, relative to the repository's root.
const (
	transitionSchema = "pkg/export/testdata/transition.schema.json"
	timelineSchema   = "docs/records.schema.json"
)

// Schema checks lines.
type Schema struct{ schema *jsonschema.Schema }

// TransitionSchema returns the schema of kube-transition-metrics' records.
func TransitionSchema(t testing.TB) Schema {
	t.Helper()
	return read(t, filepath.Join(root(t), transitionSchema))
}

// TimelineSchema returns the schema of podlapse's own records.
func TimelineSchema(t testing.TB) Schema {
	t.Helper()
	return read(t, filepath.Join(root(t), timelineSchema))
}

// TerminationSchema returns the schema of the lines about ends of pods, a part of the same file.
func TerminationSchema(t testing.TB) Schema {
	t.Helper()
	return readPart(t, filepath.Join(root(t), timelineSchema), "#/$defs/termination_line")
}

// root returns the directory of the module, above the test's own.
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
	compiler.AssertFormat() // also checks date-time
	if err := compiler.AddResource(path, document); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	schema, err := compiler.Compile(path + part)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return Schema{schema}
}

// Check fails the test if the line does not match the schema.
func (s Schema) Check(t testing.TB, line []byte) {
	t.Helper()
	if err := s.Validate(line); err != nil {
		t.Errorf("%s%v", line, err)
	}
}

// Validate returns why a line does not match the schema.
func (s Schema) Validate(line []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	if err != nil {
		return err
	}
	return s.schema.Validate(value)
}
