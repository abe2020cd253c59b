package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/podlapse/podlapse/internal/agents"
)

// noneResponded returns an error with the number of failed agents and the error of the first agent. If the command
// queried only one agent, noneResponded returns the agent's error.
func (a agentQuery) noneResponded(failed []error) error {
	text, first := a.missing(failed)
	late := lateOf(failed)
	switch {
	case late == 0 && len(failed) == 1:
		return first
	case len(failed) == 1:
		return fmt.Errorf("%s: %w", text, first)
	case late > 0:
		return fmt.Errorf("none of %d agents responded: %s; the first error is: %w", len(failed), text, first)
	}
	return fmt.Errorf("none of %d agents responded: %w", len(failed), first)
}

// missing describes the agents that failed. The result "text" contains two numbers: the number of agents that did not
// respond, and the number of agents that the command could not query in time. The text omits a number that is zero. The
// result "first" is the error of the first agent that did not respond. If every queried agent responded, "first" is the
// first error in the list "failed". If the command could not query all agents in time, missing wraps "first" in a
// *lateError. For a *lateError, the command suggests a longer timeout instead of the remedy for the agent's error.
func (a agentQuery) missing(failed []error) (text string, first error) {
	first = failed[0]
	for _, err := range failed {
		if !errors.Is(err, agents.ErrNotQueried) {
			first = err
			break
		}
	}
	late := lateOf(failed)
	switch unresponsive := len(failed) - late; {
	case late == 0:
		return agentsText(unresponsive) + " did not respond", first
	case unresponsive == 0:
		text = a.lateText(late)
	default:
		text = agentsText(unresponsive) + " did not respond, and " + a.lateText(late)
	}
	return text + " (" + a.longerTimeout(late) + ")", &lateError{first}
}

// lateOf returns the number of agents that the command could not query in time.
func lateOf(failed []error) int {
	late := 0
	for _, err := range failed {
		if errors.Is(err, agents.ErrNotQueried) {
			late++
		}
	}
	return late
}

// lateText states the number of agents that the command could not query in time.
func (a agentQuery) lateText(late int) string {
	verb := "were"
	if late == 1 {
		verb = "was"
	}
	return fmt.Sprintf("%s %s not queried within the time limit %s", agentsText(late), verb, a.target.limit)
}

// longerTimeout returns the remedy for agents that the command could not query in time. The argument "late" is the
// number of these agents. The remedy suggests a timeout that is long enough even if no late agent responds, but at most
// maxLimit. If the timeout is already maxLimit, the remedy is to repair the agents that do not respond.
func (a agentQuery) longerTimeout(late int) string {
	if a.target.limit >= maxLimit {
		return "repair the agents that do not respond"
	}
	enough := min(a.target.limit+agents.LongestTime(late, agentLimit), maxLimit)
	const step = 10 * time.Second
	return fmt.Sprintf("set a longer --timeout, for example --timeout=%ds", (enough+step-1)/step*step/time.Second)
}

func agentsText(n int) string {
	if n == 1 {
		return "1 agent"
	}
	return fmt.Sprintf("%d agents", n)
}

// lateError contains the first error of a command that could not query all agents in time.
type lateError struct{ first error }

// Error implements error.
func (e *lateError) Error() string { return e.first.Error() }

// Unwrap returns the reason why the command did not query all agents.
func (e *lateError) Unwrap() []error {
	if errors.Is(e.first, context.Canceled) {
		return []error{agents.ErrNotQueried, context.Canceled}
	}
	return []error{agents.ErrNotQueried, context.DeadlineExceeded}
}
