package agent

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schemas contains the JSON schemas of the records.
type Schemas struct {
	Timeline    *jsonschema.Schema
	Termination *jsonschema.Schema // schema for termination records; it is a part of the file with the schema Timeline
	Transition  *jsonschema.Schema
}

// ReadSchemas reads the schemas from the root directory of a repository.
func ReadSchemas(root string) (s Schemas, err error) {
	ours := filepath.Join(root, "docs/records.schema.json")
	if s.Timeline, err = readSchema(ours, ""); err != nil {
		return Schemas{}, err
	}
	if s.Termination, err = readSchema(ours, "#/$defs/termination_line"); err != nil {
		return Schemas{}, err
	}
	theirs := filepath.Join(root, "internal/transition/testdata/transition.schema.json")
	if s.Transition, err = readSchema(theirs, ""); err != nil {
		return Schemas{}, err
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
	compiler.AssertFormat() // by default, the compiler does not check formats such as date-time
	if err := compiler.AddResource(path, document); err != nil {
		return nil, fmt.Errorf("read schema %s: %w", path, err)
	}
	schema, err := compiler.Compile(path + part)
	if err != nil {
		return nil, fmt.Errorf("read schema %s: %w", path, err)
	}
	return schema, nil
}

// Validate returns an error if a line does not match the schema.
func Validate(schema *jsonschema.Schema, line []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	if err != nil {
		return fmt.Errorf("parse record: %w", err)
	}
	return schema.Validate(value)
}
