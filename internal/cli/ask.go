package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/podlapse/podlapse/internal/agents"
	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/pkg/client"
)

// errUnknownPod means that every agent that could know a pod answered, and none knows it.
var errUnknownPod = errors.New("no agent knows the pod")

// maxFailures is for how many agents a command prints why they did not answer.
const maxFailures = 10

// askConfig is which agents to query, and how to print the answers.
type askConfig struct {
	target
	output
}

func (c *askConfig) table() flags.Table {
	return slices.Concat(c.output.table(), c.target.table())
}

// Asking lists the commands that query agents.
func Asking() []Command {
	table := func() flags.Table { return new(askConfig).table() }
	return []Command{
		{
			Name: "top", Summary: "show pods that are starting, where they are stuck, and started pods",
			Run: runTop, Flags: func() flags.Table { return new(topConfig).table() },
		},
		{
			Name: "explain", Summary: "show where the start-up time of a pod went, also of a deleted pod",
			Run: runExplain, Flags: table, Arguments: suggestPods,
		},
		{
			Name: "pulls", Summary: "list image pulls in progress and completed image pulls",
			Run: runPulls, Flags: table,
		},
	}
}

// asking is one call of such a command.
type asking struct {
	Call
	reached
}

// begin reads the arguments and prepares to query. If ok is false, the command ends with the exit code. Otherwise the
// caller must close what it returns.
func begin(call Call, usage string, table flags.Table, t *target, maxArguments int) (
	a asking, rest []string, code int, ok bool) {
	rest, code, ok = call.Parse(table, usage, maxArguments)
	if !ok {
		return asking{}, nil, code, false
	}
	err := t.check()
	var r reached
	if err == nil {
		r, err = t.open(call.Program.Name, call.Getenv)
	}
	if err != nil {
		return asking{}, nil, call.FailUsage(err), false
	}
	return asking{Call: call, reached: r}, rest, ExitOK, true
}

// fail prints why there is no answer, and returns the exit code.
func (a asking) fail(err error) int {
	a.note(a.worded(err))
	return exitOf(err)
}

// print prints an answer. It prints on standard error which agents did not answer.
func (a asking) print(text string, failed []error) int {
	for i, err := range failed {
		if i == maxFailures {
			a.note(fmt.Errorf("%d more agents did not answer", len(failed)-i))
			break
		}
		a.note(err)
	}
	if _, err := io.WriteString(a.Stdout, text); err != nil {
		a.note(fmt.Errorf("write to standard output: %w", err))
		return ExitFailed
	}
	if len(failed) > 0 {
		return ExitPartial
	}
	return ExitOK
}

// ofAgents queries the agent of the node that --node names, or all agents. It fails if none answers. Otherwise it
// returns the answers, and the errors of the agents that did not answer.
func ofAgents[A any](ctx context.Context, a asking, ask func(context.Context, client.Client) (A, error)) (
	[]agents.Answer[A], []error, error) {
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

// ofNode adds the agent's node to an error.
func ofNode(agent agents.Agent, err error) error {
	if err == nil || agent.Node == "" {
		return err
	}
	return fmt.Errorf("node %s: %w", agent.Node, err)
}
