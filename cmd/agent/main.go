// Command agent is podlapse-agent: it watches the pods of one node, tells where the time of each
// start-up went, and serves and prints what it found. This package wires the parts by hand, decides
// the order in which they stop, and owns the command line.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/podlapse/podlapse/internal/terminal"
)

// What the program is called by, in what it says of itself.
const (
	agentProgram  = "podlapse-agent"
	pluginProgram = "kubectl podlapse"
)

// The names under which the file of the program is something else, as kubectl looks for its plugins on PATH.
const (
	pluginFile           = "kubectl-podlapse"
	pluginCompletionFile = "kubectl_complete-podlapse"
)

// command is one sub-command.
type command struct {
	name    string
	summary string
	// run gets the arguments after the command's own name.
	run func(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int
	// flags makes the command's settings, for completion; nil for none. They know their values once they were settled.
	flags func() []setting
	// arguments lists what the argument can be, given its beginning, for completion; nil where it is nothing or a file.
	arguments func(ctx context.Context, flags []string, getenv func(string) string, beginning string) []string
	files     bool // the argument is a file
}

// commands are those of the program of this name. A plugin of kubectl is there to ask, not to be an agent.
func commands(program string) []command {
	ask := asker{program}
	asking := []command{
		{name: "top", summary: "show pods that are starting, where they are stuck, and started pods", run: ask.runTop, flags: func() []setting { return new(topConfig).settings() }},
		{name: "explain", summary: "show where the start-up time of a pod went, also of a deleted pod", run: ask.runExplain,
			flags: func() []setting { return new(askConfig).settings() }, arguments: ask.suggestPods},
		{name: "pulls", summary: "list image pulls in progress and completed image pulls", run: ask.runPulls,
			flags: func() []setting { return new(askConfig).settings() }},
	}
	general := []command{
		{name: "version", summary: "print the version", run: runVersion},
		{name: "help", summary: "print this help", run: func(_ context.Context, args []string, _ func(string) string, stdout, stderr io.Writer) int {
			return runHelp(program, args, stdout, stderr)
		}},
	}
	if program == pluginProgram {
		return slices.Concat(asking, general)
	}
	return slices.Concat([]command{
		{name: "run", summary: "watch the pods of a node until stopped", run: runAgent, flags: func() []setting { return new(config).settings() }},
		{name: "check", summary: "test what run needs on this node, and print a remedy for each failure", run: runCheck, flags: func() []setting { return new(config).settings() }},
	}, asking, []command{
		{name: runtimeProxyCommand, summary: "forward read-only runtime calls for an agent in another container",
			run: runRuntimeProxy, flags: func() []setting { return new(proxyConfig).settings() }},
		{name: "replay", summary: "show the timelines in a recording", run: runReplay, flags: func() []setting { return new(replayConfig).settings() }, files: true},
		{name: "completion", summary: "print a completion script for bash, zsh or fish", run: runCompletion,
			arguments: func(context.Context, []string, func(string) string, string) []string { return shells() }},
	}, general)
}

func main() {
	if len(os.Args) > 1 && (os.Args[1] == "run" || os.Args[1] == runtimeProxyCommand) {
		// Go ends a program without a word when standard output has no reader. The agent has to say
		// why it ends, so the write must fail instead. In a pipeline, explain may end like any tool.
		signal.Ignore(syscall.SIGPIPE)
		// The agent's work is many short steps that hand over to each other. On several processors they keep waking
		// each other up, for a quarter of all CPU that the agent uses.
		if os.Getenv("GOMAXPROCS") == "" {
			runtime.GOMAXPROCS(1)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2) // both that count; more are dropped
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	program, args := called(os.Args)
	giveBack := terminal.Remember(os.Stdin, os.Stdout)
	go func() { // ends with the program
		<-signals
		stop()
		<-signals
		endAtOnce(program, giveBack)
	}()
	os.Exit(runAs(ctx, program, args, os.Getenv, os.Stdout, os.Stderr))
}

// endAtOnce waits for nobody, and not for a terminal that takes nothing more.
func endAtOnce(program string, giveBack func()) {
	const lastWords = 500 * time.Millisecond
	said := make(chan struct{})
	go func() {
		defer close(said)
		giveBack()
		fmt.Fprintf(os.Stderr, "%s: received a second signal, exiting immediately\n", program)
	}()
	select {
	case <-said:
	case <-time.After(lastWords):
	}
	os.Exit(exitFailed)
}

// called says as what the program was called, by the name of its file, and with which arguments.
func called(args []string) (program string, rest []string) {
	if len(args) == 0 {
		return agentProgram, nil
	}
	switch strings.TrimSuffix(filepath.Base(args[0]), ".exe") {
	case pluginFile:
		return pluginProgram, args[1:]
	case pluginCompletionFile:
		return pluginProgram, append([]string{cobra.ShellCompRequestCmd}, args[1:]...)
	}
	return agentProgram, args[1:]
}

// run is the program under its own name.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	return runAs(ctx, agentProgram, args, getenv, stdout, stderr)
}

// runAs is the program. It returns the exit code once everything it started has ended.
func runAs(ctx context.Context, program string, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		printUsage(stderr, program)
		return exitUsage
	}
	if args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd {
		return complete(ctx, program, args, getenv, stdout, stderr)
	}
	name := args[0]
	switch name {
	case "-h", "--help", "-help":
		name = "help"
	case "--version", "-version":
		name = "version"
	}
	if name == "help" && len(args) == 2 { // of a command
		name, args = args[1], []string{args[1], "--help"}
	}
	for _, c := range commands(program) {
		if c.name == name {
			return c.run(ctx, args[1:], getenv, stdout, stderr)
		}
	}
	fmt.Fprintf(stderr, "%s: unknown command %q\n\n", program, name)
	printUsage(stderr, program)
	return exitUsage
}

func runHelp(program string, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] != "--help" {
		return failUsageAs(stderr, program, "help", fmt.Errorf("unexpected argument %q: help takes one command", args[len(args)-1]))
	}
	printUsage(stdout, program)
	return exitOK
}

func printUsage(out io.Writer, program string) {
	fmt.Fprintf(out, "%s shows where every second of a pod's start-up went.\n\nCommands:\n", program)
	for _, c := range commands(program) {
		fmt.Fprintf(out, "  %-13s %s\n", c.name, c.summary)
	}
	fmt.Fprintf(out, "\n%s COMMAND --help lists a command's flags.\n", program)
}

func fail(stderr io.Writer, command string, err error) int {
	fmt.Fprintf(stderr, "%s %s: %s\n", agentProgram, command, printable(err))
	return exitFailed
}

func failUsage(stderr io.Writer, command string, err error) int {
	return failUsageAs(stderr, agentProgram, command, err)
}

func failUsageAs(stderr io.Writer, program, command string, err error) int {
	fmt.Fprintf(stderr, "%s %s: %s\n%s %s --help lists the flags.\n", program, command, printable(err), program, command)
	return exitUsage
}

// printable is an error's text for a terminal, whoever worded it.
func printable(err error) string {
	const maxLines = 100
	return terminal.CleanLines(err.Error(), maxLines)
}
