package markdown

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const document = "# Title\n" + `
Text.

` + "```sh" + `
kubectl get pods -n shop     # a comment
# only a comment
helm upgrade --install a b \
  --set c=d && kubectl -n podlapse get daemonset
kubectl port-forward POD 9717 &
` + "```" + `

- An item:
  <!-- not run: needs a cloud account -->
  ` + "```bash" + `
  curl -s "$URL/x" | jq '.items[] | .name'
  for i in $(seq 3); do
    echo "$i"
  done
  ` + "```" + `

` + "```console" + `
$ podlapse-agent version \
> --help
the output is $ not a command
` + "```" + `

` + "```yaml" + `
kubectl: this is not a command
` + "```" + `

` + "````text" + `
` + "```sh" + `
kubectl this is not a block
` + "```" + `
` + "````" + `
`

func TestCommands(t *testing.T) {
	got, err := Commands("a.md", document)
	if err != nil {
		t.Fatal(err)
	}
	const reason = "needs a cloud account"
	want := []Command{
		{File: "a.md", Line: 6, Text: "kubectl get pods -n shop",
			Calls: []Call{{"kubectl", "get", "pods", "-n", "shop"}}},
		{File: "a.md", Line: 8, Text: "helm upgrade --install a b \\\n\t--set c=d && kubectl -n podlapse get daemonset",
			Calls: []Call{{"helm", "upgrade", "--install", "a", "b", "--set", "c=d"},
				{"kubectl", "-n", "podlapse", "get", "daemonset"}}},
		{File: "a.md", Line: 10, Text: "kubectl port-forward POD 9717", Background: true,
			Calls: []Call{{"kubectl", "port-forward", "POD", "9717"}}},
		{File: "a.md", Line: 16, Block: 1, Text: `curl -s "$URL/x" | jq '.items[] | .name'`, NotRun: reason,
			Calls: []Call{{"curl", "-s", "$URL/x"}, {"jq", ".items[] | .name"}}},
		{File: "a.md", Line: 17, Block: 1, Text: "for i in $(seq 3); do\n\techo \"$i\"\ndone", NotRun: reason,
			Calls: []Call{{"seq", "3"}, {"echo", "$i"}}},
		{File: "a.md", Line: 23, Block: 2, Text: "podlapse-agent version \\\n\t--help",
			Calls: []Call{{"podlapse-agent", "version", "--help"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("differences, - wanted, + got:\n" + diff)
	}
}

func TestMistakesAreErrors(t *testing.T) {
	for text, want := range map[string]string{
		"```sh\nkubectl":                             "line 1: the code block has no closing fence",
		"<!-- not run: x -->\n\n```sh\na\n```":       `line 1: the comment "not run" is not directly above`,
		"a\n<!-- not run: x -->":                     `line 2: the comment "not run" is not directly above`,
		"<!-- not run: -->\n```sh\na\n```":           "line 1: the comment \"not run\" gives no reason",
		"<!-- not run: x -->\n```yaml\na: b\n```":    "line 3: the comment \"not run\" has no effect on this block",
		"```\nkubectl get pods\n```":                 `line 1: the code block has the unknown language ""`,
		"a\n```shel\nkubectl get pods\n```":          `line 2: the code block has the unknown language "shel"`,
		"```sh\nkubectl get 'pods\n```":              "the shell block at line 2",
		"\n```sh\nkubectl get\nkubectl $(get\n```\n": "the shell block at line 3",
	} {
		if _, err := Commands("a.md", text); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "a.md: ") {
			t.Errorf("%q: error %v, want an error that contains %q", text, err, want)
		}
	}
}

func TestSpans(t *testing.T) {
	got, err := Spans("Use `a b` and `c`.\n```sh\nx `y`\n```\n| `d` |\n")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Span{{1, "a b"}, {1, "c"}, {5, "d"}}, got); diff != "" {
		t.Error("differences, - wanted, + got:\n" + diff)
	}
}
