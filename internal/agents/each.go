package agents

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/pkg/client"
)

// atOnce is how many agents are queried at the same time: enough for a large cluster to answer in
// seconds, and few enough not to burden the API server.
const atOnce = 16

// Answer is the answer of one agent.
type Answer[A any] struct {
	Agent Agent
	Value A
	Err   error
}

// Each queries all agents, at most 16 at once and each for at most limit, and returns their answers
// in the order of the agents. An agent that can no longer be queried before ctx ends has its error
// as the answer.
func Each[A any](
	ctx context.Context, agents []Agent, limit time.Duration, ask func(context.Context, client.Client) (A, error),
) []Answer[A] {
	answers := make([]Answer[A], len(agents))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, agent := range agents {
		group.Go(func() error {
			answers[i].Agent = agent
			if answers[i].Err = ctx.Err(); answers[i].Err != nil {
				return nil
			}
			ctx, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			answers[i].Value, answers[i].Err = ask(ctx, agent.Client)
			return nil
		})
	}
	_ = group.Wait() // each error is in its answer
	return answers
}
