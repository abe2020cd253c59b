package scenario

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/node"
)

// soakVariable names how many rows the soak draws.
const soakVariable = "PODLAPSE_BLAME_ROWS"

// blameSoak plays rows whose faults are drawn, as many as the environment asks for, and judges them as the exam does. Every
// other batch is watched by an agent that sees all Events: more evidence must not make it wrong.
func blameSoak(ctx context.Context, b *bench.Bench, v *Verdict) error {
	const usual, batch = 50, 20
	count := usual
	if text := os.Getenv(soakVariable); text != "" {
		var err error
		if count, err = strconv.Atoi(text); err != nil || count < 1 {
			return fmt.Errorf("%s=%q: want a number of rows", soakVariable, text)
		}
	}
	v.Note("the rows were drawn with --seed %d", b.Seed)
	rows := drawn("drawn", count, b.Seed)
	stages := []examStage{{name: "first", set: pullInParallel}}
	for i := 0; i < len(rows); i += batch {
		stage := examStage{name: fmt.Sprintf("batch-%d", i/batch+1), set: agentWith(), rows: rows[i:min(i+batch, len(rows))]}
		if i/batch%2 == 1 {
			stage.name, stage.set = stage.name+"-events", agentWith("--events=cluster")
		}
		stages = append(stages, stage)
	}
	return playExam(ctx, b, v, stages)
}

// agentWith runs the agent with these flags from the stage on.
func agentWith(flags ...string) func(context.Context, *exam) error {
	return func(ctx context.Context, e *exam) error {
		if err := e.bench.Node.RestartAgentWith(ctx, node.AgentChange{Flags: flags}); err != nil {
			return err
		}
		return settleAgent(ctx, e.bench)
	}
}
