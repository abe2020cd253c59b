// Command agent is podlapse-agent: it watches the pods of one node, finds out where the time of each start-up went, and
// serves and prints the result. This package builds the parts, decides in which order they start and stop, and owns the
// commands that run and check an agent. internal/cli has the command line and the commands that query agents.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/podlapse/podlapse/internal/cli"
	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/internal/terminal"
)

func main() {
	if len(os.Args) > 1 && (os.Args[1] == "run" || os.Args[1] == runtimeProxyCommand) {
		// Go ends a program silently when standard output has no reader. The agent must say why it ends, so the write
		// must fail instead. A command such as explain may end silently in a pipeline, like any other tool.
		signal.Ignore(syscall.SIGPIPE)
		// The agent's work consists of many short steps, one after the other, on different goroutines. On several
		// processors, waking each other up would take a quarter of all CPU that the agent uses.
		if os.Getenv("GOMAXPROCS") == "" {
			runtime.GOMAXPROCS(1)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2) // the two that matter; more are dropped
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	program, args := cli.Called(os.Args)
	giveBack := terminal.Remember(os.Stdin, os.Stdout)
	go func() { // ends with the program
		<-signals
		stop()
		<-signals
		endAtOnce(program, giveBack)
	}()
	os.Exit(runAs(ctx, program, args, os.Getenv, os.Stdout, os.Stderr))
}

// endAtOnce restores the terminal, but does not wait for one that accepts no output.
func endAtOnce(program string, giveBack func()) {
	const limit = 500 * time.Millisecond
	done := make(chan struct{})
	go func() {
		defer close(done)
		giveBack()
		fmt.Fprintf(os.Stderr, "%s: received a second signal, exiting immediately\n", program)
	}()
	select {
	case <-done:
	case <-time.After(limit):
	}
	os.Exit(cli.ExitFailed)
}

// runAs is the program under one of its names. It returns the exit code once everything that it started has ended.
func runAs(ctx context.Context, name string, args []string, getenv func(string) string,
	stdout, stderr io.Writer) int {
	program := cli.Program{Name: name, Commands: commands(name)}
	return program.Run(ctx, args, getenv, stdout, stderr)
}

// commands lists the commands of the program of this name. A plugin of kubectl only queries agents.
func commands(name string) []cli.Command {
	general := []cli.Command{{Name: "version", Summary: "print the version", Run: runVersion}, cli.Help()}
	if name == cli.PluginProgram {
		return slices.Concat(cli.Asking(), general)
	}
	runFlags := func() flags.Table { return new(config).table() }
	const group = "Run an agent"
	return slices.Concat([]cli.Command{
		{Name: "run", Group: group, Summary: "watch the pods of a node until stopped", Run: runAgent, Flags: runFlags},
		{
			Name: "check", Group: group, Summary: "test what run needs on this node, and print a remedy for each failure",
			Run: runCheck, Flags: runFlags,
		},
	}, cli.Asking(), []cli.Command{
		{
			Name: runtimeProxyCommand, Group: group,
			Summary: "forward read-only runtime calls for an agent in another container",
			Run:     runRuntimeProxy, Flags: func() flags.Table { return new(proxyConfig).table() },
		},
		cli.Replay(), cli.Completion(),
	}, general)
}
