// Command agent is the program podlapse-agent. The agent watches the pods of one node, measures each start-up, and
// serves and prints the results. This package builds the parts and controls the order in which the parts start and
// stop. This package also contains the commands `run`, `check` and `runtime-proxy`. Package internal/cli contains the
// command line and the commands that query agents.
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
		// If the reader of standard output has exited, the next write raises SIGPIPE. By default, SIGPIPE ends a Go
		// program without a message. The agent must log why it ends. So the agent ignores SIGPIPE, and the write
		// returns an error. Commands such as `explain` keep Go's default behavior, which is usual for tools in a
		// pipeline.
		signal.Ignore(syscall.SIGPIPE)
		// The agent does its work in many short steps, one after the other, on different goroutines. With several
		// processors, one processor often has to wake another processor. These wake-ups take a quarter of the agent's
		// CPU time.
		if os.Getenv("GOMAXPROCS") == "" {
			runtime.GOMAXPROCS(1)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	program, args := cli.Called(os.Args)
	giveBack := terminal.Remember(os.Stdin, os.Stdout)
	go stopOnSignals(signals, stop, func() { endAtOnce(program, giveBack) }) // runs until the program ends
	os.Exit(runAs(ctx, program, args, os.Getenv, os.Stdout, os.Stderr))
}

// stopOnSignals calls the function "stop" at the first signal, and the function "end" at the second signal. For the
// duration of sameSignal, stopOnSignals ignores repetitions of the first signal. For example, GNU timeout sends its
// signal twice: once to its child, and once to the child's process group.
func stopOnSignals(signals <-chan os.Signal, stop, end func()) {
	const sameSignal = 100 * time.Millisecond
	first := <-signals
	at := time.Now()
	stop()
	for next := range signals {
		if next != first || time.Since(at) > sameSignal {
			end()
			return
		}
	}
}

// endAtOnce restores the terminal and exits. If the terminal accepts no output, endAtOnce waits at most 500 ms.
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

// runAs runs the program under the given name. runAs returns the exit code after all parts of the program have stopped.
// If a part does not stop within its time limit, runAs does not wait longer for this part.
func runAs(ctx context.Context, name string, args []string, getenv func(string) string,
	stdout, stderr io.Writer) int {
	program := cli.Program{Name: name, Commands: commands(name)}
	if name == cli.PluginProgram {
		for _, c := range commands(cli.AgentProgram) {
			// AgentOnly omits "completion", so the plugin does not recommend "podlapse-agent completion". The script
			// from "podlapse-agent completion" does not complete the commands of the plugin.
			isOwn := func(own cli.Command) bool { return own.Name == c.Name }
			if !slices.ContainsFunc(program.Commands, isOwn) && c.Name != "completion" {
				program.AgentOnly = append(program.AgentOnly, c.Name)
			}
		}
	}
	return program.Run(ctx, args, getenv, stdout, stderr)
}

// commands returns the commands of the program with the given name. The kubectl plugin has only `version`, `help` and
// the commands that query agents.
func commands(name string) []cli.Command {
	general := []cli.Command{{Name: "version", Summary: "print the version", Run: runVersion}, cli.Help()}
	if name == cli.PluginProgram {
		return slices.Concat(cli.QueryCommands(), general)
	}
	runFlags := func() flags.Table { return new(config).flagTable() }
	const group = "Run an agent"
	return slices.Concat([]cli.Command{
		{Name: "run", Group: group, Summary: "watch the pods of a node until stopped", Run: runAgent, Flags: runFlags},
		{
			Name: "check", Group: group,
			Summary: "test the requirements of run on this node, and print a remedy for each failure",
			Run:     runCheck, Flags: runFlags,
		},
	}, cli.QueryCommands(), []cli.Command{
		{
			Name: runtimeProxyCommand, Group: group,
			Summary: "forward read-only calls to the runtime for an agent in another container",
			Run:     runRuntimeProxy, Flags: func() flags.Table { return new(proxyConfig).table() },
		},
		cli.Replay(), cli.Completion(),
	}, general)
}
