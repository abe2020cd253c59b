package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/podlapse/podlapse/internal/agents"
	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/pkg/client"
)

// errUnknownPod means that every agent that could know a pod answered, and that no agent knows the pod.
var errUnknownPod = errors.New("no agent knows")

// maxFailures limits how many unreachable agents a command lists with their errors.
const maxFailures = 10

// asking is one call of a command that queries agents.
type asking struct {
	Call
	reached
}

// begin reads the arguments and prepares to query. If ok is false, the command must end with the exit code. Otherwise
// the caller must close the asking.
func begin(call Call, table flags.Table, t *target, check func() error, maxArguments int) (
	a asking, rest []string, code int, ok bool) {
	rest, code, ok = call.Parse(table, call.help(), maxArguments)
	if !ok {
		return asking{}, nil, code, false
	}
	err := check()
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

// print prints an answer. On standard error, it prints which agents did not answer.
func (a asking) print(text string, failed []error) int {
	a.noteFailed(failed)
	a.noteFallback()
	if code := a.write(text); code != ExitOK {
		return code
	}
	if len(failed) > 0 {
		return ExitPartial
	}
	return ExitOK
}

// write writes to standard output.
func (a asking) write(text string) int {
	if _, err := io.WriteString(a.Stdout, text); err != nil {
		a.note(fmt.Errorf("write to standard output: %w", err))
		return ExitFailed
	}
	return ExitOK
}

// noteFailed prints the errors of agents that did not answer.
func (a asking) noteFailed(failed []error) {
	for i, err := range failed {
		if i == maxFailures {
			a.note(fmt.Errorf("%d more agents did not answer", len(failed)-i))
			return
		}
		a.note(err)
	}
}

// noteFallback prints how agents were reached, if the API server's proxy did not reach them.
func (a asking) noteFallback() {
	if a.cluster == nil {
		return
	}
	if reason := a.cluster.Fallback(); reason != "" {
		a.note(fmt.Errorf("reached agents over port-forwards, because the API server's proxy to pods %s", reason))
	}
}

// ofAgents queries the agent of the node that --node names, or all agents. It fails if no agent answers. Otherwise it
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
		return nil, nil, noneAnswered(failed)
	}
	return answers, failed, nil
}

// eachAgent queries the agent of a node, or all agents if node is empty. Unlike ofAgents, it passes each answer to take
// as soon as the answer is there, so that the answers of all agents are not in memory at the same time. It calls take
// for one answer at a time, in any order.
func eachAgent[A any](ctx context.Context, a asking, node string, ask func(context.Context, client.Client) (A, error),
	take func(agents.Answer[A])) (failed []error, err error) {
	found, err := a.agents(ctx, node)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	errs := make([]error, len(found))
	agents.EachDone(ctx, found, agentLimit, ask, func(i int, answer agents.Answer[A]) {
		mu.Lock()
		defer mu.Unlock()
		if errs[i] = ofNode(answer.Agent, answer.Err); answer.Err == nil {
			take(answer)
		}
	})
	failed = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(failed) == len(found) {
		return nil, noneAnswered(failed)
	}
	return failed, nil
}

// noneAnswered returns one error for all agents.
func noneAnswered(failed []error) error {
	if len(failed) > 1 {
		return fmt.Errorf("none of %d agents answered: %w", len(failed), failed[0])
	}
	return failed[0]
}

// ofNode adds the agent's node to an error.
func ofNode(agent agents.Agent, err error) error {
	if err == nil || agent.Node == "" {
		return err
	}
	return &nodeError{agent.Node, err}
}

// nodeError is the error of the agent on one node.
type nodeError struct {
	node string
	err  error
}

// Error implements error.
func (e *nodeError) Error() string { return fmt.Sprintf("node %s: %v", e.node, e.err) }

// Unwrap returns the agent's error.
func (e *nodeError) Unwrap() error { return e.err }
