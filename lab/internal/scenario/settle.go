package scenario

import (
	"context"
	"time"

	"github.com/podlapse/podlapse/lab/internal/bench"
)

// settleAgent waits until the node's own agent has run for five seconds.
func settleAgent(ctx context.Context, b *bench.Bench) error { return settle(ctx, b.Node.AgentAge()) }

// settle waits until an agent has run for five seconds. The argument "age" is how long the agent has already run. In
// the first seconds of a watch, the agent does not treat events as new.
func settle(ctx context.Context, age time.Duration) error {
	const settling = 5 * time.Second
	return sleep(ctx, settling-age)
}
