package scenario

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/podlapse/podlapse/lab/internal/markdown"
)

const repositoryRoot = "../../.."

// The scenario must run each documented command, or a comment in the document must contain the reason for not running
// it.
func TestDocumentedCommandsRunOrSayWhyNot(t *testing.T) {
	commands, err := documentedCommands(repositoryRoot)
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, command := range commands {
		if command.NotRun != "" {
			continue
		}
		run, err := planDocumented(command, documentedNames("podlapse-agent-abcde"))
		if err == nil && run.helm != nil {
			if _, err = renderHelm(run.helm, repositoryRoot); err != nil {
				err = fmt.Errorf("%s:%d: %w", command.File, command.Line, err)
			}
		}
		if err != nil {
			t.Error(err)
		}
		ran++
	}
	if ran < 30 {
		t.Errorf("the scenario runs only %d documented commands", ran)
	}
}

// A code block with commands must name its language. Otherwise, the scenario would not find the commands.
func TestDocumentedCommandsAreInShellBlocks(t *testing.T) {
	program := regexp.MustCompile(`(?m)^(\$ )?(kubectl|helm|podlapse-agent|curl|make|git|docker|install) `)
	for file, text := range documents(t) {
		blocks, err := markdown.Blocks(text)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, block := range blocks {
			if found := program.FindString(block.Text); block.Language == "" && found != "" {
				t.Errorf("%s:%d: a code block with the command %s needs the language sh", file, block.Line, found)
			}
		}
	}
}

// All documented sub-commands and flags of podlapse's own programs must exist. The test checks code blocks, inline code
// and commands with a comment "not run".
func TestDocumentedCommandsExist(t *testing.T) {
	help := newProgramHelp(t)
	commands, err := documentedCommands(repositoryRoot)
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	check := func(file string, line int, call markdown.Call) {
		if program, arguments := ownProgram(call); program != "" {
			checked++
			if problem := help.problem(program, arguments); problem != "" {
				t.Errorf("%s:%d: %s: %s", file, line, strings.Join(call, " "), problem)
			}
		}
	}
	for _, command := range commands {
		for _, call := range command.Calls {
			check(command.File, command.Line, call)
		}
	}
	for file, text := range documents(t) {
		spans, err := markdown.Spans(text)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, span := range spans {
			check(file, span.Line, strings.Fields(span.Text))
		}
	}
	if checked < 50 {
		t.Errorf("checked only %d calls", checked)
	}
}

// documents returns the documents whose commands the tests check.
func documents(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/runbooks/*.md"} {
		found, err := filepath.Glob(filepath.Join(repositoryRoot, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: found %d files, %v", pattern, len(found), err)
		}
		for _, file := range found {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			files[file] = string(text)
		}
	}
	return files
}

const agentProgram, pluginProgram = "podlapse-agent", "kubectl-podlapse"

// ownProgram returns the program of podlapse that a call runs, and its arguments. The program can run in a container.
// For calls of other programs, ownProgram returns an empty string.
func ownProgram(call markdown.Call) (program string, arguments []string) {
	if len(call) >= 2 && call[0] == "kubectl" && call[1] == "podlapse" {
		return pluginProgram, call[2:]
	}
	if len(call) > 0 && call[0] == agentProgram {
		return agentProgram, call[1:]
	}
	if len(call) > 0 && call[0] == "kubectl" {
		if at := slices.Index(call, "/"+agentProgram); at > 0 {
			return agentProgram, call[at+1:]
		}
	}
	return "", nil
}

// programHelp contains the help texts of podlapse's programs.
type programHelp struct {
	t     *testing.T
	dir   string
	texts map[string]string // help by program and sub-command; empty if the sub-command does not exist
}

func newProgramHelp(t *testing.T) programHelp {
	t.Helper()
	h := programHelp{t: t, dir: t.TempDir(), texts: map[string]string{}}
	program := filepath.Join(h.dir, agentProgram)
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", program, "./cmd/agent")
	build.Dir = repositoryRoot
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the agent: %v\n%s", err, out)
	}
	if err := os.Symlink(program, filepath.Join(h.dir, pluginProgram)); err != nil {
		t.Fatal(err)
	}
	return h
}

// The method of returns the help of a sub-command. If the sub-command does not exist, the help is empty.
func (h programHelp) of(program, command string) string {
	key := program + " " + command
	text, known := h.texts[key]
	if !known {
		out, err := exec.Command(filepath.Join(h.dir, program), command, "--help").Output()
		if err == nil {
			text = string(out)
		}
		h.texts[key] = text
	}
	return text
}

var helpFlag = regexp.MustCompile(`(?:^|[\s,\[(=])(--?[a-zA-Z][a-z-]*)`)

// problem returns the mistake in the arguments of a program, or an empty string.
func (h programHelp) problem(program string, arguments []string) string {
	if len(arguments) == 0 || strings.HasPrefix(arguments[0], "-") || arguments[0] == "COMMAND" {
		return "" // a call without a sub-command, such as podlapse-agent --help
	}
	command := arguments[0]
	if command == "help" || command == "completion" {
		return ""
	}
	text := h.of(program, command)
	if text == "" {
		return "there is no sub-command " + command
	}
	known := []string{"--help", "-h"}
	for _, match := range helpFlag.FindAllStringSubmatch(text, -1) {
		known = append(known, match[1])
	}
	for _, word := range arguments[1:] {
		name, _, _ := strings.Cut(word, "=")
		if strings.HasPrefix(name, "-") && len(name) > 1 && !slices.Contains(known, name) {
			return command + " has no flag " + name
		}
	}
	return ""
}

func TestPlanDocumented(t *testing.T) {
	plan := func(text string) (documentedRun, error) {
		commands, err := markdown.Commands("a.md", "```sh\n"+text+"\n```\n")
		if err != nil || len(commands) != 1 {
			t.Fatalf("%s: %d commands, %v", text, len(commands), err)
		}
		return planDocumented(commands[0], documentedNames("agent-x"))
	}
	for text, want := range map[string]string{
		"kubectl podlapse explain POD -n NS":                  "kubectl podlapse explain web-0 -n shop",
		"kubectl podlapse explain NAMESPACE/POD":              "kubectl podlapse explain shop/web-0",
		"kubectl podlapse explain cart-b --node worker-2":     "kubectl podlapse explain web-0 --node node-1",
		"kubectl podlapse explain deploy/auth":                "kubectl podlapse explain deploy/shop",
		"kubectl podlapse top --node=NODE":                    "kubectl podlapse top --node=node-1",
		"kubectl -n podlapse describe pod POD":                "kubectl -n podlapse describe pod agent-x",
		"kubectl -n podlapse port-forward POD 9717":           "kubectl -n podlapse port-forward agent-x :9717",
		"kubectl -n podlapse port-forward AGENT-POD 1:9717 &": "kubectl -n podlapse port-forward agent-x 1:9717",
		"kubectl apply -k manifests/base":                     "kubectl apply -k manifests/base --dry-run=server",
		"kubectl -n podlapse delete pod x":                    "kubectl -n podlapse delete pod x --dry-run=server",
		"kubectl -n shop annotate pod web-0 a=b":              "kubectl -n shop annotate pod web-0 a=b",
		"podlapse-agent explain \"$POD\"":                     "podlapse-agent explain \"$POD\"",
	} {
		if run, err := plan(text); err != nil || run.text != want {
			t.Errorf("%s: got %q, %v, want %q", text, run.text, err, want)
		}
	}
	for text, want := range map[string]string{
		"make up":                               "has no program make",
		"kubectl drain NODE":                    "kubectl drain is not supported",
		"kubectl -n podlapse scale deploy/x":    "would change the lab",
		"kubectl get pods -o name | helm ls":    "helm must be the only program",
		"kubectl delete pod $(kubectl get pod)": "must call only kubectl",
		"kubectl podlapse explain THING":        "placeholder THING",
		"kubectl get pods &":                    "documentedEnd",
	} {
		if run, err := plan(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %q and error %v, want an error with %q", text, run.text, err, want)
		}
	}
	for text, want := range map[string]bool{
		"kubectl podlapse top -w": true, "kubectl podlapse page NODE": true, "kubectl get pods -n shop": false,
		"kubectl -n podlapse logs daemonset/podlapse-agent -f": true, "curl -N http://127.0.0.1:9717/": true,
		"kubectl podlapse top": false, "kubectl proxy": true, "curl -w x http://127.0.0.1:9717/": false,
	} {
		if run, err := plan(text); err != nil || (run.until != nil) != want {
			t.Errorf("%s: interrupted: %t, %v, want %t", text, run.until != nil, err, want)
		}
	}
}

func TestParseHelm(t *testing.T) {
	got, err := parseHelm(strings.Fields("helm upgrade --install podlapse manifests/chart/podlapse -n podlapse "+
		"--create-namespace --set kubePrometheusStack.release=kps,stateDir.enabled=true"), ".")
	if err != nil {
		t.Fatal(err)
	}
	want := helmCall{release: "podlapse", chart: "manifests/chart/podlapse", namespace: "podlapse",
		values: map[string]any{"kubePrometheusStack": map[string]any{"release": "kps"},
			"stateDir": map[string]any{"enabled": true}}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(helmCall{})); diff != "" {
		t.Error("differences, - wanted, + got:\n" + diff)
	}
	for _, wrong := range []string{"helm uninstall podlapse", "helm upgrade podlapse", "helm install a b --surprise",
		"helm install a b -f"} {
		if _, err := parseHelm(strings.Fields(wrong), "."); err == nil {
			t.Errorf("%s must be an error", wrong)
		}
	}
}
