package scenario

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/podlapse/podlapse/lab/internal/bench"
)

// kill is one SIGKILL to the agent. The field "after" is how long the agent runs before the signal. The field "down" is
// how long the agent stays down after the signal.
type kill struct{ after, down time.Duration }

// killPlan returns a random plan for kills of the agent. Most kills interrupt the agent's normal work, and some kills
// interrupt the start of the agent. After some kills, the agent stays down so long that the agent misses events.
func killPlan(random *rand.Rand, count int) []kill {
	upTo := func(most time.Duration) time.Duration { return time.Duration(random.Int64N(int64(most))) }
	kills := make([]kill, count)
	for i := range kills {
		kills[i] = kill{after: 300*time.Millisecond + upTo(4700*time.Millisecond), down: upTo(100 * time.Millisecond)}
		switch random.IntN(10) {
		case 0, 1, 2:
			kills[i].after = upTo(300 * time.Millisecond) // the kill interrupts the agent's start, as in a crash loop
		case 3:
			kills[i].down = upTo(2 * time.Second)
		}
	}
	return kills
}

// totalKillTime returns the duration of the whole plan.
func totalKillTime(kills []kill) (sum time.Duration) {
	for _, k := range kills {
		sum += k.after + k.down
	}
	return sum
}

// killAgent kills the agent at the times in the plan. When killAgent returns, the agent is running.
func killAgent(ctx context.Context, b *bench.Bench, kills []kill) error {
	for _, k := range kills {
		if err := sleep(ctx, k.after); err != nil {
			return err
		}
		if err := b.Node.KillAgent(); err != nil {
			return err
		}
		interrupted := sleep(ctx, k.down)
		// Restart the agent even if the wait was interrupted: the next user of the node expects a running agent.
		if err := b.Node.RestartAgent(); err != nil {
			return err
		}
		if interrupted != nil {
			return interrupted
		}
	}
	return b.Node.AwaitAgent(ctx)
}
