// Package command implements the lab's command line. The package parses the arguments and runs the steps of each
// command.
package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/podlapse/podlapse/lab/internal/build"
	"github.com/podlapse/podlapse/lab/internal/floor"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/node"
	"github.com/podlapse/podlapse/lab/internal/prereq"
	"github.com/podlapse/podlapse/lab/internal/progress"
	"github.com/podlapse/podlapse/lab/internal/registry"
	"github.com/podlapse/podlapse/lab/internal/sample"
	"github.com/podlapse/podlapse/lab/internal/scenario"
	"github.com/podlapse/podlapse/lab/internal/stack"
)

// The internal commands, which only the lab itself runs.
const (
	registryCommand = node.RegistryCommand
	floorCommand    = node.FloorCommand
)

// Run runs the given command line. Run writes progress messages to stderr and results to stdout.
func Run(ctx context.Context, words []string, getenv func(string) string, stdout, stderr io.Writer) error {
	a, err := parse(words, getenv, scenario.Names())
	if err != nil {
		return err
	}
	switch a.command {
	case "help":
		fmt.Fprintln(stdout, usage)
		return nil
	case "list":
		return list(stdout)
	case "stacks":
		return listStacks(stdout)
	case registryCommand:
		return registry.Serve(ctx, a.dir, registry.Guard{Dir: a.guard}, layout.Address(layout.ControlPort),
			layout.Address(layout.RegistryPort), layout.Address(layout.NodeMirrorPort))
	case floorCommand:
		return floor.Run(ctx, a.floor)
	}
	if err := prereq.Here(); err != nil {
		return err
	}
	place, err := layout.FromEnvironment(getenv)
	if err != nil {
		return UsageError{err.Error()}
	}
	n := node.Node{Layout: place, Report: progress.New(stderr)}
	if a.command == "down" {
		return down(ctx, n)
	}
	if a.command == "matrix" {
		return tryStacks(ctx, n, a, stdout) // the command "matrix" replaces the running node
	}
	if n.Stack, err = choose(n.RunningStack(), a.stack); err != nil {
		return UsageError{err.Error()}
	}
	switch a.command {
	case "build":
		_, err := prepare(ctx, n)
		return err
	case "status":
		return status(ctx, n, stdout)
	case "scenario":
		return play(ctx, n, a, stdout)
	}
	return up(ctx, n, a, stdout, stderr)
}

// choose returns the stack that the command uses. The argument "running" is the name of the running node's stack. If no
// node is up, this name is empty. The argument "wanted" is the name of the stack that the user requests, and can be
// empty. If both arguments are empty, choose returns the default stack.
func choose(running, wanted string) (stack.Stack, error) {
	chosen, err := stack.Load(cmp.Or(wanted, running))
	if err == nil && running != "" && running != chosen.Name {
		return stack.Stack{}, node.StackError(running, chosen.Name)
	}
	return chosen, err
}

func list(stdout io.Writer) error {
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	for _, s := range scenario.Table() {
		fmt.Fprintf(table, "%s\t%s\n", s.Name, s.Summary)
	}
	return table.Flush()
}

func listStacks(stdout io.Writer) error {
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	for _, name := range stack.Names() {
		s, err := stack.Load(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(table, "%s\t%s\n", s.Name, s.Summary)
	}
	return table.Flush()
}

func down(ctx context.Context, n node.Node) error {
	was, err := n.Down(ctx)
	if err != nil {
		return err
	}
	if was {
		n.Report.Say("the lab is down; only the build cache remains")
	} else {
		n.Report.Say("the lab was not up")
	}
	return nil
}

func status(ctx context.Context, n node.Node, stdout io.Writer) error {
	// The command "lab status" calls plan only to print the path of kubectl. plan fails, for example, if FindSource
	// does not find the source directory. The command then omits the path of kubectl.
	if programs, _, _, err := plan(ctx, n); err == nil {
		n.Programs = programs
	}
	if !n.Status(ctx, stdout) {
		return Quiet{errors.New("the lab is not healthy")}
	}
	return nil
}

func plan(ctx context.Context, n node.Node) (build.Programs, build.Builder, bool, error) {
	source, err := build.FindSource()
	if err != nil {
		return build.Programs{}, build.Builder{}, false, err
	}
	builder := build.Builder{Source: source, Cache: n.Cache, Stack: n.Stack, Report: n.Report}
	programs, missing, err := builder.Plan(ctx)
	return programs, builder, missing, err
}

// raise prepares the programs, the packages and the agent, and then starts the node.
func raise(ctx context.Context, n node.Node, agent node.Agent) (node.Node, error) {
	if agent.Program != "" {
		path, err := node.CheckAgent(agent.Program)
		if err != nil {
			return n, UsageError{err.Error()}
		}
		agent.Program = path
	}
	n, err := prepare(ctx, n)
	if err != nil {
		return n, err
	}
	if err := n.Up(ctx, agent); err != nil {
		return n, err
	}
	n.Report.Say("the node is up, with the stack %q", n.Stack.Name)
	return n, nil
}

// prepare installs the packages and builds the programs that the node needs.
func prepare(ctx context.Context, n node.Node) (node.Node, error) {
	programs, builder, missing, err := plan(ctx, n)
	if err != nil {
		return n, err
	}
	if err := prereq.Packages(ctx, n.Report, missing); err != nil {
		return n, err
	}
	if err := builder.Build(ctx, programs); err != nil {
		return n, err
	}
	if n.Stack.Containerd.Debian {
		if programs.Runtime, err = debianRuntime(ctx, n, builder, programs.Runtime); err != nil {
			return n, err
		}
	}
	n.Programs = programs
	return n, nil
}

// debianRuntime returns a directory with Debian's containerd and the other programs of the directory built.
func debianRuntime(ctx context.Context, n node.Node, builder build.Builder, built string) (string, error) {
	unlock, err := builder.LockCache(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	c := n.Stack.Containerd
	return prereq.Containerd(ctx, n.Report, n.Cache, built, fmt.Sprintf("%d.%d", c.Major, c.Minor))
}

func up(ctx context.Context, n node.Node, a arguments, stdout, stderr io.Writer) error {
	if a.sample && a.agent == "" && n.Agent() == "" {
		return UsageError{"up: --sample requires an agent to explain the sample: set --agent PATH or PODLAPSE_AGENT"}
	}
	agent := node.Agent{Program: a.agent, Archive: a.image, Form: node.AsProcess}
	if a.image != "" || a.agent == "" && n.AgentImage() != "" {
		agent.Form = node.Deployed
	}
	n, err := raise(ctx, n, agent)
	if err != nil {
		return err
	}
	if a.sample {
		if err := sample.Show(ctx, n, stdout, stderr); err != nil {
			return err
		}
	}
	n.Addresses(stdout)
	return nil
}

func play(ctx context.Context, n node.Node, a arguments, stdout io.Writer) error {
	i := slices.IndexFunc(scenario.Table(), func(s scenario.Scenario) bool { return s.Name == a.scenario })
	s := scenario.Table()[i] // i is not -1, because parse rejects the names of unknown scenarios
	if a.agent == "" && n.Agent() == "" {
		return UsageError{"scenario: no agent to test: set --agent PATH or PODLAPSE_AGENT"}
	}
	switch {
	case s.Name == scenario.Compare && a.before == "":
		return UsageError{"scenario: " + s.Name +
			" requires a second agent program: set --before PATH or run \"make compare BEFORE=COMMIT\""}
	case s.Name != scenario.Compare && a.before != "":
		return UsageError{"scenario: " + s.Name + " does not compare agents: remove --before"}
	}
	form := node.AsProcess
	if s.Deployed {
		form = node.Deployed
	}
	if s.Deployed && a.image == "" && n.AgentImage() == "" {
		return UsageError{"scenario: " + s.Name +
			" deploys the agent from its image: run \"make image\" and set --image ARCHIVE or PODLAPSE_IMAGE"}
	}
	n, err := raise(ctx, n, node.Agent{Program: a.agent, Archive: a.image, Form: form})
	if err != nil {
		return err
	}
	_, err = scenario.Play(ctx, n, s, scenario.Choice{Seed: a.seed, Before: a.before}, stdout)
	return err
}
