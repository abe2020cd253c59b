package startuptest

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// timelineSchema is the path of the schema of podlapse's records, relative to the repository's root.
const timelineSchema = "docs/records.schema.json"

// Schema checks lines against a JSON schema.
type Schema struct{ schema *jsonschema.Schema }

// TimelineSchema returns the schema of podlapse's records.
func TimelineSchema(t testing.TB) Schema {
	t.Helper()
	return ReadSchema(t, timelineSchema, "")
}

// TerminationSchema returns the schema of records of terminations. This schema is a part of the schema that
// TimelineSchema returns.
func TerminationSchema(t testing.TB) Schema {
	t.Helper()
	return ReadSchema(t, timelineSchema, "#/$defs/termination_line")
}

// root returns the root directory of the module.
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
	t.Fatalf("find %s: no parent directory contains it", timelineSchema)
	return ""
}

// ReadSchema returns the schema in a file, or only one part of the schema, for example "#/$defs/termination_line". The
// path is relative to the repository's root.
func ReadSchema(t testing.TB, path, part string) Schema {
	t.Helper()
	path = filepath.Join(root(t), path)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat() // also checks the format of timestamps
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

// Validate returns an error if a line does not match the schema.
func (s Schema) Validate(line []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	if err != nil {
		return err
	}
	return s.schema.Validate(value)
}
