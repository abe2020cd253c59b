package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/internal/terminal"
)

// The names of the program in help and messages: as itself, and as a plugin of kubectl.
const (
	AgentProgram  = "podlapse-agent"
	PluginProgram = "kubectl podlapse"
)

// The file names under which the program is a plugin. kubectl looks for them on the PATH.
const (
	pluginFile           = "kubectl-podlapse"
	pluginCompletionFile = "kubectl_complete-podlapse"
)

// Called returns the program's name and its arguments. The name depends on the file name under which it was called.
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

// Program is a name and its commands, in the order of the help.
type Program struct {
	Name     string // AgentProgram or PluginProgram
	Commands []Command
}

// Command is a sub-command.
type Command struct {
	Name    string
	Summary string
	// Run returns the exit code once everything that it started has ended.
	Run func(ctx context.Context, call Call) int
	// Flags makes the command's table of flags, for completion; nil for none.
	Flags func() flags.Table
	// Arguments lists what the argument can be, for completion: call has the flags so far, and the argument starts with
	// beginning. It is nil if there is no argument or if the argument is a file.
	Arguments func(ctx context.Context, call Call, beginning string) []string
	Files     bool // the argument is a file
}

// Call is one call of a command.
type Call struct {
	Program Program
	Command string
	Args    []string // after the command's name
	Getenv  func(string) string
	Stdout  io.Writer
	Stderr  io.Writer
}

// Run runs the command that the first argument names and returns the exit code.
func (p Program) Run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		p.printUsage(stderr)
		return ExitUsage
	}
	call := Call{Program: p, Command: args[0], Args: args[1:], Getenv: getenv, Stdout: stdout, Stderr: stderr}
	switch call.Command {
	case cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd:
		return complete(ctx, call)
	case "-h", "--help", "-help":
		call.Command = "help"
	case "--version", "-version":
		call.Command = "version"
	}
	if call.Command == "help" && len(args) == 2 { // of a command
		call.Command, call.Args = args[1], []string{"--help"}
	}
	for _, c := range p.Commands {
		if c.Name == call.Command {
			return c.Run(ctx, call)
		}
	}
	fmt.Fprintf(stderr, "%s: unknown command %q\n\n", p.Name, call.Command)
	p.printUsage(stderr)
	return ExitUsage
}

func (p Program) printUsage(out io.Writer) {
	fmt.Fprintf(out, "%s shows where every second of a pod's start-up went.\n\nCommands:\n", p.Name)
	for _, c := range p.Commands {
		fmt.Fprintf(out, "  %-13s %s\n", c.Name, c.Summary)
	}
	fmt.Fprintf(out, "\n%s COMMAND --help lists a command's flags.\n", p.Name)
}

// Help is the command that lists all commands.
func Help() Command {
	return Command{Name: "help", Summary: "print this help", Run: func(_ context.Context, call Call) int {
		if len(call.Args) > 0 && call.Args[0] != "--help" {
			last := call.Args[len(call.Args)-1]
			return call.FailUsage(fmt.Errorf("unexpected argument %q: help takes one command", last))
		}
		call.Program.printUsage(call.Stdout)
		return ExitOK
	}}
}

// Parse reads the flags and the other arguments, at most maxArguments. If ok is false, it has printed the help or the
// error, and the command ends with the exit code.
func (c Call) Parse(table flags.Table, usage string, maxArguments int) (rest []string, code int, ok bool) {
	rest, err := table.Parse(c.Args, c.Getenv, maxArguments)
	switch {
	case errors.Is(err, flags.ErrHelp):
		table.PrintHelp(c.Stdout, c.Program.Name, usage)
		return nil, ExitOK, false
	case err != nil:
		return nil, c.FailUsage(err), false
	}
	return rest, ExitOK, true
}

// Fail prints why the command failed.
func (c Call) Fail(err error) int {
	c.note(err)
	return ExitFailed
}

// FailUsage prints what is wrong with the arguments.
func (c Call) FailUsage(err error) int {
	c.note(err)
	fmt.Fprintf(c.Stderr, "%s %s --help lists the flags.\n", c.Program.Name, c.Command)
	return ExitUsage
}

func (c Call) note(err error) {
	fmt.Fprintf(c.Stderr, "%s %s: %s\n", c.Program.Name, c.Command, printable(err))
}

// printable returns the text of an error in a form that is safe for a terminal. The text is untrusted.
func printable(err error) string {
	const maxLines = 100
	return terminal.CleanLines(err.Error(), maxLines)
}
