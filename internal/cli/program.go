package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/internal/terminal"
)

// Names of the program in help and messages. PluginProgram is the program's name when it runs as a kubectl plugin.
const (
	AgentProgram  = "podlapse-agent"
	PluginProgram = "kubectl podlapse"
)

// File names of a kubectl plugin. kubectl searches the PATH for files with these names.
const (
	pluginFile           = "kubectl-podlapse"
	pluginCompletionFile = "kubectl_complete-podlapse"
)

// Called returns the program's name and its arguments. The program's name is PluginProgram if the executable file has
// the name of a kubectl plugin, and AgentProgram otherwise.
func Called(args []string) (program string, rest []string) {
	if len(args) == 0 {
		return AgentProgram, nil
	}
	switch strings.TrimSuffix(filepath.Base(args[0]), ".exe") {
	case pluginFile:
		return PluginProgram, args[1:]
	case pluginCompletionFile:
		return PluginProgram, append([]string{cobra.ShellCompRequestCmd}, args[1:]...)
	}
	return AgentProgram, args[1:]
}

// Program contains the program's name and its commands. Within each group, the help lists the commands in the order
// of Commands.
type Program struct {
	Name     string // AgentProgram or PluginProgram
	Commands []Command
	// AgentOnly contains the names of the commands that only the program AgentProgram has. If Name is AgentProgram,
	// AgentOnly is empty.
	AgentOnly []string
	Now       func() time.Time // clock; nil means time.Now
}

// Command is a sub-command.
type Command struct {
	Name    string
	Summary string
	Group   string // heading above the command in the help; if empty, the heading is otherCommands
	// Usage is the syntax of the arguments. The command's help shows Usage, then Description, then Examples. A command
	// that passes its own help to Call.Parse leaves these three fields empty.
	Usage, Description string
	Examples           []Example
	// Similar contains words that users type instead of the command's name. If a user types one of these words,
	// the error suggests the command.
	Similar []string
	// Run runs the command and returns the exit code. All goroutines of the command have ended when Run returns.
	Run func(ctx context.Context, call Call) int
	// Flags creates a new table of the command's flags. The help and the shell completion call Flags. If the command
	// has no flags, Flags is nil.
	Flags func() flags.Table
	// Arguments returns suggestions for the next argument, for shell completion. The call contains the flags that the
	// user has already typed. "beginning" is the typed part of the argument. Completion drops suggestions that do not
	// start with this part. If the command has no argument, or if the argument is a file, Arguments is nil.
	Arguments func(ctx context.Context, call Call, beginning string) []string
	Files     bool // true if the argument is a file
}

// Example is an example in a command's help.
type Example struct {
	Purpose string
	Line    string // command line without the program's name
}

// Call is one run of a command.
type Call struct {
	Program Program
	Command string
	Now     func() time.Time
	Args    []string // arguments after the command's name
	Getenv  func(string) string
	Stdout  io.Writer
	Stderr  io.Writer
}

// Run runs the command in the first argument and returns the exit code.
func (p Program) Run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		p.printUsage(stderr)
		return ExitUsage
	}
	call := Call{
		Program: p,
		Command: args[0],
		Args:    args[1:],
		Getenv:  getenv,
		Stdout:  stdout,
		Stderr:  stderr,
		Now:     p.Now,
	}
	if call.Now == nil {
		call.Now = time.Now
	}
	switch {
	case call.Command == cobra.ShellCompRequestCmd, call.Command == cobra.ShellCompNoDescRequestCmd:
		return complete(ctx, call)
	case isHelp(call.Command):
		call.Command = "help"
	case call.Command == "--version", call.Command == "-version":
		call.Command = "version"
	}
	if call.Command == "help" && len(args) == 2 && !isHelp(args[1]) { // help of a single command
		call.Command, call.Args = args[1], []string{"--help"}
	}
	for _, c := range p.Commands {
		if c.Name == call.Command {
			return c.Run(ctx, call)
		}
	}
	fmt.Fprintf(stderr, "%s: %s\nRun \"%s help\" for the list of commands.\n", p.Name, unknownCommand(call), p.Name)
	return ExitUsage
}

// isHelp reports whether an argument is the flag that requests help.
func isHelp(arg string) bool { return arg == "-h" || arg == "--help" || arg == "-help" }

// otherCommands is the heading above commands without a group.
const otherCommands = "Other commands"

func (p Program) printUsage(out io.Writer) {
	fmt.Fprintf(out, "%s shows where the start-up time of pods went, and what caused it.\n", p.Name)
	var groups []string
	for _, c := range p.Commands {
		if !slices.Contains(groups, c.Group) && c.Group != "" {
			groups = append(groups, c.Group)
		}
	}
	for _, group := range append(groups, "") {
		fmt.Fprintf(out, "\n%s:\n", cmp.Or(group, otherCommands))
		for _, c := range p.Commands {
			if c.Group == group {
				fmt.Fprintf(out, "  %-13s %s\n", c.Name, c.Summary)
			}
		}
	}
	fmt.Fprintf(out, "\nRun \"%s COMMAND --help\" for the flags and examples of a command.\n", p.Name)
}

// help returns the syntax of the arguments, the description and the examples of a command.
func (c Call) help() string {
	for _, command := range c.Program.Commands {
		if command.Name != c.Command {
			continue
		}
		var out strings.Builder
		out.WriteString(strings.TrimSpace(command.Name+" "+command.Usage) + "\n\n" + command.Description)
		if len(command.Examples) > 0 {
			out.WriteString("\n\nExamples:")
		}
		for _, example := range command.Examples {
			fmt.Fprintf(&out, "\n  # %s\n  %s %s", example.Purpose, c.Program.Name, example.Line)
		}
		if command.Flags != nil {
			out.WriteString("\n\nFlags:")
		}
		return out.String()
	}
	return c.Command
}

// Help returns the command that lists all commands.
func Help() Command {
	return Command{Name: "help", Summary: "print this help", Run: func(_ context.Context, call Call) int {
		if len(call.Args) > 0 && !isHelp(call.Args[0]) {
			last := call.Args[len(call.Args)-1]
			return call.FailUsage(fmt.Errorf("unexpected argument %q: give the name of only one command", last))
		}
		call.Program.printUsage(call.Stdout)
		return ExitOK
	}}
}

// Parse reads the flags and at most maxArguments other arguments. If the result "ok" is false, Parse has printed the
// help or the error. The command must then exit with the exit code in the result "code".
func (c Call) Parse(table flags.Table, usage string, maxArguments int) (rest []string, code int, ok bool) {
	rest, err := table.Parse(c.Args, c.Getenv, maxArguments)
	switch {
	case errors.Is(err, flags.ErrHelp):
		table.PrintHelp(c.Stdout, c.Program.Name, usage)
		return nil, ExitOK, false
	case err != nil:
		return nil, c.FailUsage(c.withCommand(err, rest, maxArguments)), false
	}
	return rest, ExitOK, true
}

// withCommand adds a hint to the error if the first unexpected argument is the name of a command, or a word in a
// command's field Similar. For example, in "top nodes", the argument "nodes" is the name of a command.
func (c Call) withCommand(err error, rest []string, maxArguments int) error {
	if len(rest) <= maxArguments {
		return err
	}
	word := rest[maxArguments]
	for _, command := range c.Program.Commands {
		if command.Name == word || slices.Contains(command.Similar, word) {
			return fmt.Errorf("%w\nThe command for %q is: %s %s", err, word, c.Program.Name, command.Name)
		}
	}
	return err
}

// Fail prints the error of the command and returns the exit code.
func (c Call) Fail(err error) int {
	c.note(err)
	return ExitFailed
}

// FailUsage prints an error about the arguments and returns the exit code.
func (c Call) FailUsage(err error) int {
	c.note(err)
	fmt.Fprintf(c.Stderr, "Run \"%s %s --help\" for %s.\n", c.Program.Name, c.Command, c.helpContents())
	return ExitUsage
}

// helpContents returns a phrase that states what the command's help contains, for example "the flags".
func (c Call) helpContents() string {
	for _, command := range c.Program.Commands {
		switch {
		case command.Name != c.Command:
		case len(command.Examples) > 0:
			return "the flags and examples"
		case command.Flags != nil:
			return "the flags"
		}
	}
	return "the usage"
}

func (c Call) note(err error) {
	fmt.Fprintf(c.Stderr, "%s %s: %s\n", c.Program.Name, c.Command, printable(err))
}

// printable returns the text of an error in a form that is safe for a terminal. The text of an error is untrusted.
func printable(err error) string {
	const maxLines = 100
	return terminal.CleanLines(err.Error(), maxLines)
}
