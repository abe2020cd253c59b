package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/podlapse/podlapse/internal/agents"
	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/pkg/client"
)

// errUnknownPod means that no agent knows the pod, and that every agent that could know the pod has responded.
var errUnknownPod = errors.New("not found")

// maxFailures is the maximum number of agents whose errors a command prints.
const maxFailures = 10

// agentQuery is one run of a command that queries agents. agentQuery contains the command's arguments and outputs, and
// the access to the agents.
type agentQuery struct {
	Call
	agentAccess
}

// begin reads the arguments and prepares the queries. If the result "ok" is false, the command must exit with the exit
// code in the result "code". If "ok" is true, the caller must call the function in the field "close" of the agentQuery.
func begin(call Call, table flags.Table, t *target, check func() error, maxArguments int) (
	a agentQuery, rest []string, code int, ok bool) {
	rest, code, ok = call.Parse(table, call.help(), maxArguments)
	if !ok {
		return agentQuery{}, nil, code, false
	}
	a, code, ok = prepare(call, t, check)
	return a, rest, code, ok
}

// prepare checks the values of the flags and prepares the queries. The results have the same meaning as the results of
// the function "begin".
func prepare(call Call, t *target, check func() error) (a agentQuery, code int, ok bool) {
	if t.allNamespaces {
		t.namespace = "" // as in kubectl, -A overrides -n
	}
	err := check()
	var r agentAccess
	if err == nil {
		r, err = t.open(call.Program.Name, call.Getenv)
	}
	if err != nil {
		return agentQuery{}, call.FailUsage(err), false
	}
	return agentQuery{Call: call, agentAccess: r}, ExitOK, true
}

// fail prints the error of the command and returns the exit code.
func (a agentQuery) fail(err error) int {
	a.note(a.withRemedy(err))
	return exitOf(err)
}

// print writes text to standard output. print also writes notes to standard error, for example the errors of agents
// that did not respond. If the list "failed" contains an error, the exit code is ExitPartial. If the write to standard
// output fails, the exit code is ExitFailed.
func (a agentQuery) print(text string, failed []error) int {
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

// write writes text to standard output and returns the exit code.
func (a agentQuery) write(text string) int {
	if _, err := io.WriteString(a.Stdout, text); err != nil {
		a.note(fmt.Errorf("write to standard output: %w", err))
		return ExitFailed
	}
	return ExitOK
}

// noteFailed writes the errors in the list "failed" to standard error. For agents that did not respond, noteFailed
// writes at most maxFailures errors, and then the number of the other errors. For agents that the command could not
// query in time, noteFailed writes only the number of agents. If a list omits pods, noteFailed writes the number of
// these pods.
func (a agentQuery) noteFailed(failed []error) {
	unresponsive, late := 0, 0
	for _, err := range failed {
		var o *omitted
		switch {
		case errors.As(err, &o):
			a.note(o)
		case errors.Is(err, agents.ErrNotQueried):
			late++
		default:
			if unresponsive++; unresponsive <= maxFailures {
				a.note(err)
			}
		}
	}
	switch more := unresponsive - maxFailures; {
	case more == 1:
		a.note(errors.New("1 more agent did not respond"))
	case more > 1:
		a.note(fmt.Errorf("%d more agents did not respond", more))
	}
	if late > 0 {
		a.note(errors.New(a.lateText(late) + ": " + a.longerTimeout(late)))
	}
}

// omitted is the note that a list does not contain all pods. omitted implements error, so that a list of the agents'
// errors can also contain this note.
type omitted struct{ pods int }

// Error implements error.
func (o *omitted) Error() string {
	return fmt.Sprintf("%d more pods are not shown: select fewer pods with -n, -l or --node", o.pods)
}

// noteFallback writes a note to standard error if the command used port-forwards because the API server's proxy
// failed. Without --verbose, noteFallback writes nothing. In many clusters the proxy never reaches pods, so every
// command would write the note.
func (a agentQuery) noteFallback() {
	if a.cluster == nil || !a.target.verbose {
		return
	}
	if reason := a.cluster.Fallback(); reason != "" {
		a.note(fmt.Errorf("the command queried agents over port-forwards, because the API server's proxy %s", reason))
	}
}

// ofAgents queries all agents, or only the agent of the node in --node. ofAgents returns the responses, and the errors
// of the agents that did not respond. If no agent responds, ofAgents fails.
func ofAgents[A any](ctx context.Context, a agentQuery, ask func(context.Context, client.Client) (A, error)) (
	[]agents.Result[A], []error, error) {
	found, err := a.agents(ctx, a.target.node)
	if err != nil {
		return nil, nil, err
	}
	var responses []agents.Result[A]
	var failed []error
	for _, response := range agents.Each(ctx, found, agentLimit, ask) {
		if response.Err != nil {
			failed = append(failed, ofNode(response.Agent, response.Err))
			continue
		}
		responses = append(responses, response)
	}
	if len(responses) == 0 {
		return nil, nil, a.noneResponded(failed)
	}
	return responses, failed, nil
}

// eachAgent queries agents and passes each response to the function "take" as soon as it arrives. So eachAgent never
// holds the responses of all agents in memory. eachAgent calls "take" for one response at a time, in any order.
// eachAgent returns the agents that responded, and the errors of the other agents. If no agent responds, eachAgent
// fails.
func eachAgent[A any](
	ctx context.Context, a agentQuery, found []agents.Agent, ask func(context.Context, client.Client) (A, error),
	take func(agents.Result[A])) (responded []agents.Agent, failed []error, err error) {
	var mu sync.Mutex
	errs := make([]error, len(found))
	agents.EachDone(ctx, found, agentLimit, ask, func(i int, response agents.Result[A]) {
		mu.Lock()
		defer mu.Unlock()
		if errs[i] = ofNode(response.Agent, response.Err); response.Err == nil {
			take(response)
		}
	})
	for i, err := range errs {
		if err == nil {
			responded = append(responded, found[i])
		} else {
			failed = append(failed, err)
		}
	}
	if len(responded) == 0 {
		return nil, nil, a.noneResponded(failed)
	}
	return responded, failed, nil
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
