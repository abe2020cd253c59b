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

	"github.com/podlapse/podlapse/lab/internal/markdown"
)

const repositoryRoot = "../../.."

// The scenario must run each documented command. If the scenario does not run a command, a comment in the document must
// state the reason.
func TestDocumentedCommandsRunOrSayWhyNot(t *testing.T) {
	commands, err := documentedCommands(repositoryRoot)
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	var releases helmReleases
	for _, command := range commands {
		if command.NotRun != "" {
			continue
		}
		run, err := planDocumented(command, documentedNames("podlapse-agent-abcde"))
		if err == nil && run.helm != nil {
			if _, err = releases.renderRelease(command.File, run.helm, repositoryRoot); err != nil {
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

// The scenario finds commands only in blocks with a shell language. Other blocks must therefore contain no commands.
func TestDocumentedCommandsAreInShellBlocks(t *testing.T) {
	program := regexp.MustCompile(`(?m)^(\$ )?(kubectl|helm|podlapse-agent|curl|make|git|docker|install|sudo|go) `)
	indented := regexp.MustCompile(`(?m)^(?: {4,}|\t)(kubectl|helm|podlapse-agent|curl|make|git|docker|sudo) `)
	for file, text := range checkedDocuments(t) {
		blocks, err := markdown.Blocks(text)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		outside := text
		for _, block := range blocks {
			outside = strings.Replace(outside, block.Text, "", 1)
			if found := program.FindString(block.Text); block.Language == "text" && found != "" {
				t.Errorf("%s:%d: a code block with the command %s needs the language sh", file, block.Line, found)
			}
		}
		if found := indented.FindString(outside); found != "" {
			t.Errorf("%s: the command %s is in an indented block: use a block with the language sh", file, found)
		}
	}
}

// All documented subcommands and flags of podlapse's own programs must exist. The test checks code blocks, inline code
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
			if problem := help.mistakeIn(program, arguments); problem != "" {
				t.Errorf("%s:%d: %s: %s", file, line, strings.Join(call, " "), problem)
			}
		}
	}
	for _, command := range commands {
		for _, call := range command.Calls {
			check(command.File, command.Line, call)
		}
	}
	for file, text := range checkedDocuments(t) {
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

// TestListItemsBeginLines finds list items that a wrong line break moved into the text of the previous item.
func TestListItemsBeginLines(t *testing.T) {
	glued := regexp.MustCompile(`(?m)^.*\S[.:)] - [*A-Z\x60].*$`)
	for file, text := range checkedDocuments(t) {
		for _, line := range glued.FindAllString(text, -1) {
			t.Errorf("%s: a list item must begin a line: %s", file, line)
		}
	}
}

// checkedDocuments returns the documents whose commands the tests check.
func checkedDocuments(t *testing.T) map[string]string {
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

// ownProgram returns the program of podlapse that a call runs, and the arguments of this program. The program can run
// in a container. For calls of other programs, ownProgram returns an empty string.
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
	texts map[string]string // help by program and subcommand; empty if the subcommand does not exist
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

// helpOf returns the help of a subcommand. If the subcommand does not exist, the help is empty.
func (h programHelp) helpOf(program, command string) string {
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

// mistakeIn returns a description of the mistake in the arguments of a program. Without a mistake, it returns an empty
// string.
func (h programHelp) mistakeIn(program string, arguments []string) string {
	if len(arguments) == 0 || strings.HasPrefix(arguments[0], "-") || arguments[0] == "COMMAND" {
		return "" // a call without a subcommand, such as podlapse-agent --help
	}
	command := arguments[0]
	if command == "help" || command == "completion" {
		return ""
	}
	text := h.helpOf(program, command)
	if text == "" {
		return "there is no subcommand " + command
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
