package scenario

import (
	"context"
	"time"

	"github.com/podlapse/podlapse/lab/internal/bench"
)

// awaitAgentAge waits until the node's own agent has run for five seconds.
func awaitAgentAge(ctx context.Context, b *bench.Bench) error {
	return awaitAge(ctx, b.Node.AgentAge())
}

// awaitAge waits until an agent has run for five seconds. The argument "age" is how long the agent has already run. The
// wait is necessary because the agent does not treat the first events of a watch as new: a new watch can deliver old
// events.
func awaitAge(ctx context.Context, age time.Duration) error {
	const enough = 5 * time.Second
	return sleep(ctx, enough-age)
}
