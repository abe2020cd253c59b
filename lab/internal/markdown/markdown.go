// Package markdown reads the shell commands in the repository's Markdown documents. The scenario "documentation" runs
// these commands. The tests of the package "scenario" check these commands, but do not run them.
package markdown

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Block is a fenced code block.
type Block struct {
	Language string // the word after the opening fence, for example "sh"; Languages returns the possible values
	Line     int    // line number of the first line of Text, counted from 1
	Text     string // content of the block, without the fence's indentation
	NotRun   string // REASON in a comment "<!-- not run: REASON -->" above the block; empty without this comment
}

// Languages returns the languages that a code block can have. The language "text" is for output and drawings.
func Languages() []string {
	return []string{"sh", "bash", "shell", "console", "text", "yaml", "json", "promql", "diff", "go"}
}

var (
	fence  = regexp.MustCompile("^( *)(```+|~~~+) *([A-Za-z0-9_-]*)")
	notRun = regexp.MustCompile(`^\s*<!--\s*not run:\s*(.*?)\s*-->\s*$`)
)

// Blocks returns the code blocks of a document, in the order of the document. Blocks returns an error if a block has no
// closing fence, or if its language is unknown. Blocks also returns an error if a comment "<!-- not run: REASON -->"
// has no reason, or if no block follows directly below the comment. Each error contains the line number.
func Blocks(text string) ([]Block, error) {
	var blocks []Block
	var open *Block
	var opening []string // parts of the line that opened the current block
	reason, reasonLine := "", 0
	number := 0
	for raw := range strings.Lines(text) {
		number++
		line := strings.TrimRight(raw, "\r\n")
		match := fence.FindStringSubmatch(line)
		switch {
		case open != nil && match != nil && match[3] == "" && strings.HasPrefix(match[2], opening[2]):
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.Text += strings.TrimPrefix(line, opening[1]) + "\n"
		case match != nil && !slices.Contains(Languages(), match[3]):
			return nil, fmt.Errorf("line %d: the code block has the unknown language %q, want one of these languages "+
				"after the fence: %s", number, match[3], strings.Join(Languages(), ", "))
		case match != nil:
			open, opening = &Block{Language: match[3], Line: number + 1, NotRun: reason}, match
			reason, reasonLine = "", 0
		case reasonLine > 0:
			return nil, fmt.Errorf("line %d: the comment \"not run\" is not directly above a code block", reasonLine)
		default:
			comment := notRun.FindStringSubmatch(line)
			if comment == nil {
				break
			}
			if reason, reasonLine = comment[1], number; reason == "" {
				return nil, fmt.Errorf("line %d: the comment \"not run\" gives no reason", number)
			}
		}
	}
	switch {
	case open != nil:
		return nil, fmt.Errorf("line %d: the code block has no closing fence", open.Line-1)
	case reasonLine > 0:
		return nil, fmt.Errorf("line %d: the comment \"not run\" is not directly above a code block", reasonLine)
	}
	return blocks, nil
}

// shell returns the commands of a block as a shell script. If the block's language is not a shell language, ok is
// false. In a block with the language "console", a command follows the prompt "$ ". If a line of the command ends with
// a backslash, the next line continues the command. Other lines become empty lines, so the script has as many lines as
// the block.
func (b Block) shell() (script string, ok bool) {
	switch b.Language {
	case "sh", "bash", "shell":
		return b.Text, true
	case "console":
	default:
		return "", false
	}
	var commands strings.Builder
	continued := false
	for line := range strings.Lines(b.Text) {
		command, isCommand := strings.CutPrefix(line, "$ ")
		if continued {
			command, isCommand = strings.TrimPrefix(line, "> "), true
		}
		if continued = isCommand && strings.HasSuffix(command, "\\\n"); !isCommand {
			command = "\n"
		}
		commands.WriteString(command)
	}
	return commands.String(), true
}

var span = regexp.MustCompile("`([^`\n]+)`")

// Span is a piece of inline code in a document.
type Span struct {
	Line int // counted from 1
	Text string
}

// Spans returns the inline code of a document. Code blocks are not inline code.
func Spans(text string) ([]Span, error) {
	blocks, err := Blocks(text)
	if err != nil {
		return nil, err
	}
	inBlock := map[int]bool{}
	for _, block := range blocks {
		for line := range strings.Count(block.Text, "\n") + 2 { // the two additional lines are the fences
			inBlock[block.Line-1+line] = true
		}
	}
	var spans []Span
	number := 0
	for line := range strings.Lines(text) {
		if number++; inBlock[number] {
			continue
		}
		for _, match := range span.FindAllStringSubmatch(line, -1) {
			spans = append(spans, Span{number, match[1]})
		}
	}
	return spans, nil
}
