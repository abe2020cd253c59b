package agents

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/pkg/client"
)

// AtOnce is the maximum number of agents that a command queries at the same time. The limit AtOnce protects the API
// server, which forwards the requests. With AtOnce parallel queries, a command needs only seconds for a large cluster.
const AtOnce = 16

// ErrNotQueried means that the context ended before Each queried the agent.
var ErrNotQueried = errors.New("the agent was not queried in time")

// Answer is the result of a query to one agent.
type Answer[A any] struct {
	Agent Agent
	Value A
	Err   error
}

// Each queries all agents, and returns the answers in the order of the agents. Each queries at most AtOnce agents at
// the same time, and waits at most the time "limit" for each agent. If ctx ends before Each queries an agent, this
// agent's answer contains ErrNotQueried and the error of ctx.
func Each[A any](
	ctx context.Context, agents []Agent, limit time.Duration, ask func(context.Context, client.Client) (A, error),
) []Answer[A] {
	answers := make([]Answer[A], len(agents))
	EachDone(ctx, agents, limit, ask, func(i int, answer Answer[A]) { answers[i] = answer })
	return answers
}

// EachDone queries all agents like Each, but immediately calls the function "done" for each answer, with the agent's
// index. Several goroutines call "done" at the same time.
func EachDone[A any](
	ctx context.Context, agents []Agent, limit time.Duration, ask func(context.Context, client.Client) (A, error),
	done func(i int, answer Answer[A]),
) {
	var group errgroup.Group
	group.SetLimit(AtOnce)
	for i, agent := range agents {
		group.Go(func() error {
			answer := Answer[A]{Agent: agent}
			if err := ctx.Err(); err != nil {
				answer.Err = fmt.Errorf("%w: %w", ErrNotQueried, err)
			} else {
				asked, cancel := context.WithTimeout(ctx, limit)
				answer.Value, answer.Err = ask(asked, agent.Client)
				cancel()
				answer.Err = Plain(answer.Err)
			}
			if len(agents) > AtOnce {
				agent.release() // hundreds of idle connections would load the API server
			}
			done(i, answer)
			return nil
		})
	}
	_ = group.Wait() // the answers contain the errors
}
