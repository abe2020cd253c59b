package sentences

import (
	"reflect"
	"testing"
)

func TestScript(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []Sentence
	}{
		"values.yaml": {`# The first paragraph has
# two lines. And two sentences here.
#
# - An item of a list
name: "a # not a comment here" # a comment behind the code
other: b # too short
`, []Sentence{
			{File: "values.yaml", Line: 1, Text: "The first paragraph has two lines.",
				Code: `name: "a # not a comment here" # a comment behind the code`},
			{File: "values.yaml", Line: 2, Before: "The first paragraph has two lines.",
				Text: "And two sentences here.",
				Code: `name: "a # not a comment here" # a comment behind the code`},
			{File: "values.yaml", Line: 4, Text: "An item of a list",
				Code: `name: "a # not a comment here" # a comment behind the code`},
			{File: "values.yaml", Line: 5, Text: "a comment behind the code",
				Code: `name: "a # not a comment here"`},
		}},
		"page.js": {`/* A block comment that
 * has two lines. */
const a = 'x // no comment at all'; // the value of a constant
// The function below does nothing.
function f() {}
`, []Sentence{
			{File: "page.js", Line: 1, Text: "A block comment that has two lines.",
				Code: `const a = 'x // no comment at all'; // the value of a constant`},
			{File: "page.js", Line: 3, Text: "the value of a constant", Code: `const a = 'x // no comment at all';`},
			{File: "page.js", Line: 4, Text: "The function below does nothing.", Code: "function f() {}"},
		}},
		"run.sh": {"#!/bin/sh and nothing to read\n# shellcheck disable=SC2086 for a program\n" +
			"# The script prints a text.\necho a\n", []Sentence{
			{File: "run.sh", Line: 3, Text: "The script prints a text.", Code: "echo a"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := script(name, test.text, commentMarker(name)); !reflect.DeepEqual(got, test.want) {
				t.Errorf("\n got %+v\nwant %+v", got, test.want)
			}
		})
	}
}

func TestCommentMarker(t *testing.T) {
	for name, want := range map[string]string{
		"a/Makefile": "#", "Dockerfile": "#", "a/b.yml": "#", "c.js": "//", "d.json": "", "LICENSE": "",
		"README.md": "",
	} {
		if got := commentMarker(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
