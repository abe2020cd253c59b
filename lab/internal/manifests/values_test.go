package manifests

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// TestValuesDocument requires that docs/values.md describes the chart's values.yaml.
func TestValuesDocument(t *testing.T) {
	want := append(valuesDocument(t, read(t, chartDirectory(t), "values.yaml")), refusedDocument(t)...)
	path := filepath.Join(filepath.Dir(directory(t)), "docs", "values.md")
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, path); !bytes.Equal(got, want) {
		t.Errorf("%s differs from the files of the chart; run go test ./internal/manifests -update in lab/", path)
	}
}

// refusedVariables returns the variables that the value env refuses, and what to do instead.
func refusedVariables(t *testing.T) (refused map[string]string) {
	t.Helper()
	if err := yaml.Unmarshal(read(t, chartDirectory(t), "files", "refused-variables.yaml"), &refused); err != nil {
		t.Fatal(err)
	}
	return refused
}

// refusedDocument returns a table of the variables that the value env refuses.
func refusedDocument(t *testing.T) []byte {
	t.Helper()
	var text bytes.Buffer
	text.WriteString("\n## Refused variables\n\nThe value `env` must not contain these variables, because other " +
		"parts of the chart depend on them:\n\n| variable | what to do instead |\n|---|---|\n")
	refused := refusedVariables(t)
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		text.WriteString("| `" + name + "` | " + refused[name] + " |\n")
	}
	return text.Bytes()
}

// TestRefusedVariablesNameValues requires that each refused variable exists, and that the chart has the values that
// users must set instead.
func TestRefusedVariablesNameValues(t *testing.T) {
	configuration := string(read(t, filepath.Dir(directory(t)), "docs", "configuration.md"))
	values := string(read(t, filepath.Dir(directory(t)), "docs", "values.md"))
	for name, remedy := range refusedVariables(t) {
		if !strings.Contains(configuration, "`"+name+"`") {
			t.Errorf("docs/configuration.md has no variable %s", name)
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(remedy, -1) {
			if !strings.Contains(values, "\n| `"+m[1]+"` |") {
				t.Errorf("%s: the chart has no value %s", name, m[1])
			}
		}
	}
}

// TestValuesTable checks how comments become descriptions of values.
func TestValuesTable(t *testing.T) {
	got := string(valuesDocument(t, []byte(`# About the file.

# Where the image
# comes from.
image:
  tag: "" # the version
  pullPolicy: IfNotPresent
env: {}
#  LOG_LEVEL: debug

ports: [1, 2]
text: |
  a
  b
`)))
	for _, want := range []string{"| `image.tag` | `\"\"` | Where the image comes from. the version |\n",
		"| `image.pullPolicy` | `IfNotPresent` | |\n", "| `env` | `{}` | |\n", "| `ports` | `[1, 2]` | |\n",
		"| `text` | [text](../manifests/chart/podlapse/values.yaml) | |\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no row %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "LOG_LEVEL") || strings.Contains(got, "About the file") {
		t.Errorf("an example or the comment about the file became a row:\n%s", got)
	}
}

// valuesDocument returns a table of the values in a file. The description of a value is the comment above the value or
// on its line.
func valuesDocument(t *testing.T, values []byte) []byte {
	t.Helper()
	var file yaml.Node
	if err := yaml.Unmarshal(values, &file); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	text.WriteString(`# Values of the Helm chart

This page is generated from [values.yaml](../manifests/chart/podlapse/values.yaml) of the chart (` +
		"`go test ./internal/manifests -update`" + ` in lab/). A schema
rejects unknown values. [Install](install.md#components) explains what each option changes.

| value | default | |
|---|---|---|
`)
	writeValues(&text, "", "", file.Content[0])
	return text.Bytes()
}

// writeValues writes a table row for each value of a mapping. If the mapping has a comment, the comment describes the
// first value.
func writeValues(text *bytes.Buffer, prefix, inherited string, mapping *yaml.Node) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		description := inherited
		for _, more := range []string{key.HeadComment, key.LineComment, value.LineComment} {
			description = strings.TrimSpace(description + " " + comment(more))
		}
		inherited = ""
		if value.Kind == yaml.MappingNode && len(value.Content) > 0 {
			writeValues(text, prefix+key.Value+".", description, value)
			continue
		}
		if description != "" {
			description += " "
		}
		text.WriteString("| `" + prefix + key.Value + "` | " + defaultValue(value) + " | " + description + "|\n")
	}
}

// comment returns a comment as one line. If the comment has several paragraphs, only the last paragraph describes the
// value.
func comment(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	var words []string
	for line := range strings.Lines(paragraphs[len(paragraphs)-1]) {
		words = append(words, strings.Fields(strings.TrimLeft(line, "# "))...)
	}
	return strings.ReplaceAll(strings.Join(words, " "), "|", `\|`)
}

// defaultValue returns a value as YAML on one line. If the value is too long, defaultValue returns a link to the file.
func defaultValue(value *yaml.Node) string {
	plain := *value
	plain.HeadComment, plain.LineComment, plain.FootComment = "", "", ""
	encoded, err := yaml.Marshal(flow(&plain))
	line := strings.TrimSpace(string(encoded))
	if err != nil || strings.Contains(line, "\n") {
		return "[text](../manifests/chart/podlapse/values.yaml)"
	}
	return "`" + strings.ReplaceAll(line, "|", `\|`) + "`"
}

// flow returns a sequence or a mapping in YAML's flow style, which fits on one line.
func flow(value *yaml.Node) *yaml.Node {
	if value.Kind == yaml.SequenceNode || value.Kind == yaml.MappingNode {
		value.Style = yaml.FlowStyle
	}
	return value
}
