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
	"runtime"
	"syscall"
)

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2 // wrong arguments or settings: nothing was tried
)

// command is one sub-command. It gets the arguments after its own name.
type command struct {
	name    string
	summary string
	run     func(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int
}

func commands() []command {
	return []command{
		{"run", "watch the pods of a node until told to stop", runAgent},
		{"check", "test what run needs on this node, and say how to mend it", runCheck},
		{"explain", "show where the start-up time of pods went, asked from a running agent", runExplain},
		{"replay", "show the timelines of recorded observations", runReplay},
		{"version", "print the version", runVersion},
		{"help", "print this help", runHelp},
	}
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "run" {
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
	go func() { // ends with the program
		<-signals
		stop()
		<-signals
		fmt.Fprintln(os.Stderr, "podlapse-agent: a second signal, ending at once")
		os.Exit(exitFailed)
	}()
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// run is the program. It returns the exit code once everything it started has ended.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		printUsage(stderr)
		return exitUsage
	}
	name := args[0]
	if name == "-h" || name == "--help" || name == "-help" {
		name = "help"
	}
	for _, c := range commands() {
		if c.name == name {
			return c.run(ctx, args[1:], getenv, stdout, stderr)
		}
	}
	fmt.Fprintf(stderr, "podlapse-agent: unknown command %q\n\n", name)
	printUsage(stderr)
	return exitUsage
}

func runHelp(_ context.Context, args []string, _ func(string) string, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		return failUsage(stderr, "help", fmt.Errorf("unexpected argument %q", args[0]))
	}
	printUsage(stdout)
	return exitOK
}

func printUsage(out io.Writer) {
	fmt.Fprint(out, "podlapse-agent tells where every second of a pod's start-up went.\n\nCommands:\n")
	for _, c := range commands() {
		fmt.Fprintf(out, "  %-9s %s\n", c.name, c.summary)
	}
	fmt.Fprint(out, "\npodlapse-agent COMMAND --help lists a command's flags.\n")
}

func fail(stderr io.Writer, command string, err error) int {
	fmt.Fprintf(stderr, "podlapse-agent %s: %v\n", command, err)
	return exitFailed
}

func failUsage(stderr io.Writer, command string, err error) int {
	fmt.Fprintf(stderr, "podlapse-agent %s: %v\npodlapse-agent %s --help lists the flags.\n", command, err, command)
	return exitUsage
}
