package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/podlapse/podlapse/internal/agents"
	"github.com/podlapse/podlapse/pkg/client"
)

// errUnknownPod is that all agents that could know a pod do not.
var errUnknownPod = errors.New("no agent knows the pod")

// maxFailures is of how many agents it is said why they did not answer.
const maxFailures = 10

// askConfig is whom to ask, and how to print what they say.
type askConfig struct {
	target
	output
}

func (c *askConfig) settings() []setting {
	return slices.Concat(c.output.settings(), c.target.settings())
}

// asker is the commands that ask agents, under the name of the program.
type asker struct{ program string }

// asking is one run of such a command.
type asking struct {
	reached
	asker
	command        string
	stdout, stderr io.Writer
	getenv         func(string) string
}

// begin reads the arguments and prepares to ask. Where that ends the command it returns false and the exit code. Else the caller must
// close what it got.
func (a asker) begin(command, usage string, settings []setting, t *target, args []string, maxArguments int,
	getenv func(string) string, stdout, stderr io.Writer) (asking, []string, int, bool) {
	rest, err := settle(settings, args, getenv, maxArguments)
	if errors.Is(err, errHelp) {
		printHelp(stdout, a.program, usage, settings)
		return asking{}, nil, exitOK, false
	}
	if err == nil {
		err = t.check()
	}
	var r reached
	if err == nil {
		r, err = t.open(a.program, getenv)
	}
	if err != nil {
		return asking{}, nil, failUsageAs(stderr, a.program, command, err), false
	}
	return asking{reached: r, asker: a, command: command, stdout: stdout, stderr: stderr, getenv: getenv}, rest, exitOK, true
}

// fail says why nothing can be printed, and returns the exit code.
func (a asking) fail(err error) int {
	a.note(a.worded(err))
	return exitOf(err)
}

func (a asking) note(err error) {
	fmt.Fprintf(a.stderr, "%s %s: %s\n", a.program, a.command, printable(err))
}

// print prints an answer. What could not be asked is told of on standard error.
func (a asking) print(text string, failed []error) int {
	for i, err := range failed {
		if i == maxFailures {
			a.note(fmt.Errorf("%d more agents did not answer", len(failed)-i))
			break
		}
		a.note(err)
	}
	if _, err := io.WriteString(a.stdout, text); err != nil {
		a.note(fmt.Errorf("write to standard output: %w", err))
		return exitFailed
	}
	if len(failed) > 0 {
		return exitPartial
	}
	return exitOK
}

// ofAgents asks the agents of the node that was named, or all. It fails if none answered; else the errors of those that did not are
// beside the answers of the others.
func ofAgents[A any](ctx context.Context, a asking, ask func(context.Context, client.Client) (A, error)) ([]agents.Answer[A], []error, error) {
	found, err := a.agents(ctx, a.target.node)
	if err != nil {
		return nil, nil, err
	}
	var answers []agents.Answer[A]
	var failed []error
	for _, answer := range agents.Each(ctx, found, agentLimit, ask) {
		if answer.Err != nil {
			failed = append(failed, ofNode(answer.Agent, answer.Err))
			continue
		}
		answers = append(answers, answer)
	}
	if len(answers) == 0 {
		if len(failed) > 1 {
			return nil, nil, fmt.Errorf("none of %d agents answered: %w", len(failed), failed[0])
		}
		return nil, nil, failed[0]
	}
	return answers, failed, nil
}

// ofNode says which node's agent an error is about.
func ofNode(agent agents.Agent, err error) error {
	if err == nil || agent.Node == "" {
		return err
	}
	return fmt.Errorf("node %s: %w", agent.Node, err)
}
