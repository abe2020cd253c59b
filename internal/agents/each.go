package agents

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/pkg/client"
)

// AtOnce is the maximum number of agents that a command queries at the same time. A large cluster then answers within
// seconds, and the API server forwards only a few requests at once.
const AtOnce = 16

// Answer is the answer of one agent.
type Answer[A any] struct {
	Agent Agent
	Value A
	Err   error
}

// Each queries all agents, at most AtOnce at a time and each for at most limit. Each returns the answers in the order
// of the agents. If ctx ends before an agent was queried, the answer of this agent is the error of ctx.
func Each[A any](
	ctx context.Context, agents []Agent, limit time.Duration, ask func(context.Context, client.Client) (A, error),
) []Answer[A] {
	answers := make([]Answer[A], len(agents))
	EachDone(ctx, agents, limit, ask, func(i int, answer Answer[A]) { answers[i] = answer })
	return answers
}

// EachDone is like Each, but passes every answer to done as soon as the answer is there, with the agent's index.
// Several goroutines call done at the same time.
func EachDone[A any](
	ctx context.Context, agents []Agent, limit time.Duration, ask func(context.Context, client.Client) (A, error),
	done func(i int, answer Answer[A]),
) {
	var group errgroup.Group
	group.SetLimit(AtOnce)
	for i, agent := range agents {
		group.Go(func() error {
			answer := Answer[A]{Agent: agent, Err: ctx.Err()}
			if answer.Err == nil {
				asked, cancel := context.WithTimeout(ctx, limit)
				answer.Value, answer.Err = ask(asked, agent.Client)
				cancel()
				answer.Err = Plain(answer.Err)
			}
			if len(agents) > AtOnce {
				agent.release() // hundreds of idle connections would burden the API server
			}
			done(i, answer)
			return nil
		})
	}
	_ = group.Wait() // each error is in its answer
}
