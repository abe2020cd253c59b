package scenario

import (
	"context"
	"time"

	"github.com/podlapse/podlapse/lab/internal/bench"
)

// sight is which of its sources the agent has.
type sight struct {
	events, runtime bool
}

// full says that the agent has all of them: then it has to be exact. Else it may say less, though nothing wrong.
func (s sight) full() bool { return s.events && s.runtime }

// flags let the agent see no more than that.
func (s sight) flags() (flags []string) {
	if !s.events {
		flags = append(flags, "--events=off")
	}
	if !s.runtime {
		flags = append(flags, "--cri-endpoint=off")
	}
	return flags
}

// seeing is a scenario for an agent that sees so much.
func seeing(s sight, name, summary string, run func(context.Context, *bench.Bench, *Verdict, sight) error) Scenario {
	return Scenario{Name: name, Summary: summary, Flags: s.flags(),
		Run: func(ctx context.Context, b *bench.Bench, v *Verdict) error { return run(ctx, b, v, s) }}
}

// settleAgent waits until the agent has been running for a while: what arrives in the first seconds of a watch it
// does not take for news.
func settleAgent(ctx context.Context, b *bench.Bench) error {
	const settling = 5 * time.Second
	return sleep(ctx, settling-b.Node.AgentAge())
}
