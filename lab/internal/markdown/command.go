package markdown

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Command is one statement in a shell block of a document.
type Command struct {
	File       string
	Line       int    // line number, counted from 1
	Block      int    // number of the command's block in the file, counted from 0
	Text       string // the statement, without comments and without the & at its end
	Background bool   // true if the statement ends with &
	NotRun     string // reason in the comment "not run" above the block; empty if there is no such comment
	Calls      []Call // all calls of programs, in order; also calls in pipelines and substitutions
}

// Call is one call of a program. The elements are the program's name and the arguments, without quotes and
// redirections. Expansions such as $HOME and $(date) stay as written.
type Call []string

// Commands returns the commands in the shell blocks of a document. The argument "file" is the name of the document.
// Commands adds this name to errors and results.
func Commands(file, text string) ([]Command, error) {
	blocks, err := Blocks(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var commands []Command
	for i, block := range blocks {
		script, ok := block.shell()
		if !ok {
			if block.NotRun != "" {
				return nil, fmt.Errorf("%s: line %d: the comment \"not run\" has no effect on this block, "+
					"because the block is not a shell script: remove the comment, or begin the block with ```sh",
					file, block.Line)
			}
			continue
		}
		parsed, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
		if err != nil {
			return nil, fmt.Errorf("%s: the shell block at line %d: %w", file, block.Line, err)
		}
		for _, statement := range parsed.Stmts {
			command := Command{File: file, Line: block.Line + int(statement.Pos().Line()) - 1, Block: i,
				Background: statement.Background, NotRun: block.NotRun, Calls: callsIn(statement)}
			statement.Background = false
			if command.Text, err = source(statement); err != nil {
				return nil, fmt.Errorf("%s: line %d: %w", file, command.Line, err)
			}
			commands = append(commands, command)
		}
	}
	return commands, nil
}

// source returns the shell source of one node of the syntax tree.
func source(node syntax.Node) (string, error) {
	var text strings.Builder
	if err := syntax.NewPrinter().Print(&text, node); err != nil {
		return "", err
	}
	return strings.TrimSpace(text.String()), nil
}

// callsIn returns all calls of programs in a statement.
func callsIn(statement *syntax.Stmt) []Call {
	var all []Call
	syntax.Walk(statement, func(node syntax.Node) bool {
		call, ok := node.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		words := make(Call, len(call.Args))
		for i, word := range call.Args {
			words[i] = plain(word)
		}
		all = append(all, words)
		return true
	})
	return all
}

// plain returns the text of a word without quotes.
func plain(word *syntax.Word) string {
	var text strings.Builder
	var add func(parts []syntax.WordPart)
	add = func(parts []syntax.WordPart) {
		for _, part := range parts {
			switch part := part.(type) {
			case *syntax.Lit:
				text.WriteString(part.Value)
			case *syntax.SglQuoted:
				text.WriteString(part.Value)
			case *syntax.DblQuoted:
				add(part.Parts)
			default:
				written, err := source(part)
				if err != nil {
					written = "$()" // a placeholder for syntax that the printer cannot print
				}
				text.WriteString(written)
			}
		}
	}
	add(word.Parts)
	return text.String()
}
