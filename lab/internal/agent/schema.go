package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TransitionSchemaVariable names the file with the schema of transition records, which is not ours to copy. Without it, the
// schema is looked for beside the repository.
const TransitionSchemaVariable = "PODLAPSE_TRANSITION_SCHEMA"

// Schemas are those of the records.
type Schemas struct {
	Timeline   *jsonschema.Schema
	End        *jsonschema.Schema // of lines about ends, a part of the other's file
	Transition *jsonschema.Schema // nil where there is none
	Absent     string             // where the one of transition records would be
}

// ReadSchemas reads them from a repository's root. Only that of transition records may be absent, and only where the
// variable, read through lookup, does not name it.
func ReadSchemas(root string, lookup func(string) (string, bool)) (s Schemas, err error) {
	ours := filepath.Join(root, "docs/records.schema.json")
	if s.Timeline, err = readSchema(ours, ""); err != nil {
		return Schemas{}, err
	}
	if s.End, err = readSchema(ours, "#/$defs/termination_line"); err != nil {
		return Schemas{}, err
	}
	path, named := lookup(TransitionSchemaVariable)
	if !named {
		path = filepath.Join(root, "../shared/compat/kube_transition_metrics.schema.json")
	}
	if s.Transition, err = readSchema(path, ""); err != nil {
		if named || !errors.Is(err, fs.ErrNotExist) {
			return Schemas{}, err
		}
		s.Absent = path
	}
	return s, nil
}

func readSchema(path, part string) (*jsonschema.Schema, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read schema %s: %w", path, err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat() // date-time is more than a note
	if err := compiler.AddResource(path, document); err != nil {
		return nil, fmt.Errorf("read schema %s: %w", path, err)
	}
	schema, err := compiler.Compile(path + part)
	if err != nil {
		return nil, fmt.Errorf("read schema %s: %w", path, err)
	}
	return schema, nil
}

// Validate says why a line is no such record.
func Validate(schema *jsonschema.Schema, line []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	if err != nil {
		return fmt.Errorf("parse record: %w", err)
	}
	return schema.Validate(value)
}
