package cli

import (
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the examples in docs/cli.md; read the difference by eye")

const document = "../../docs/cli.md"

// example is a code block of the document that starts with a command of the plugin.
var example = regexp.MustCompile("(?ms)^```console\n\\$ kubectl podlapse ([^\n]*)\n.*?^```$")

// TestDocument runs every example of docs/cli.md on the cluster of this package's tests, and compares the output with
// the document.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	server, withRevisions := clusterOf(t, shop()), clusterOf(t, withCheckout(shop()))
	withRevisions.SetApps(checkoutApps())
	commands := map[string]bool{}
	got := example.ReplaceAllStringFunc(string(text), func(block string) string {
		line := example.FindStringSubmatch(block)[1]
		args := strings.Fields(line)
		commands[args[0]] = true
		if args[0] == "page" || args[0] == "help" {
			// page runs until a signal: see TestPage. help lists all commands of the plugin: see TestHelpDocument of
			// cmd/agent, which contains the other commands.
			return block
		}
		cluster := server
		if strings.Contains(line, "checkout") {
			cluster = withRevisions
		}
		response := atNoon(t, cluster, args...)
		if response.code != ExitOK {
			t.Errorf("%s: exit %d, %s", line, response.code, response.stderr)
		}
		return "```console\n$ kubectl podlapse " + line + "\n" + response.stdout + "```"
	})
	if *update {
		if err := os.WriteFile(document, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if got != string(text) {
		t.Errorf("the examples of %s have other outputs: run go test ./internal/cli -update", document)
	}
	for _, name := range []string{"explain", "top", "pulls", "nodes", "node", "registries", "report", "page", "help"} {
		if !commands[name] {
			t.Errorf("%s has no example of %s", document, name)
		}
	}
}

// TestRunbooksNameColumns checks that the runbooks describe the output of commands by the names of columns, and that
// these columns exist. The position of a column or a line changes with the flags and with the pod.
func TestRunbooksNameColumns(t *testing.T) {
	server := clusterOf(t, shop())
	var output string
	for _, line := range []string{"explain --node worker-2", "explain cart-b -n shop", "nodes -o wide"} {
		output += atNoon(t, server, strings.Fields(line)...).stdout
	}
	runbooks, err := filepath.Glob("../../docs/runbooks/*.md")
	if err != nil || len(runbooks) < 5 {
		t.Fatalf("%d runbooks, %v", len(runbooks), err)
	}
	position := regexp.MustCompile(`(?i)\b(first|last) (column|line|row)\b`)
	column := regexp.MustCompile(`\bcolumn ([A-Z]+(?: [A-Z]+)*)\b`)
	named := 0
	for _, file := range runbooks {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if found := position.Find(text); found != nil {
			t.Errorf("%s describes the output by the position %q: name the column", file, found)
		}
		for _, found := range column.FindAllSubmatch(text, -1) {
			if named++; !strings.Contains(output, "  "+string(found[1])) {
				t.Errorf("%s names the column %s, which no command prints", file, found[1])
			}
		}
	}
	if named < 2 {
		t.Errorf("the runbooks name %d columns", named)
	}
}

// TestFallbackIsReported checks that a command reports its port-forwards once with --verbose, and never without.
func TestFallbackIsReported(t *testing.T) {
	server := clusterOf(t, shop())
	server.Hang(func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/proxy/") })
	got := atNoon(t, server, "nodes", "-v")
	got.must(
		t,
		ExitOK,
		"worker-2",
		"the command queried agents over port-forwards, because the API server's proxy did not respond within 1s",
	)
	if strings.Count(got.stderr, "port-forward") != 1 {
		t.Errorf("stderr:\n%s", got.stderr)
	}
	if got := atNoon(t, server, "nodes"); got.code != ExitOK || got.stderr != "" {
		t.Errorf("exit %d, stderr:\n%s", got.code, got.stderr)
	}
}
