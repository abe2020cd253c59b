package scenario

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/node"
)

// soakVariable names the number of rows that the soak draws.
const soakVariable = "PODLAPSE_BLAME_ROWS"

// blameSoak runs as many rows with randomly drawn faults as the environment requests, and judges them like the exam. In
// every other batch, the agent sees all Events: more evidence must not make it wrong.
func blameSoak(ctx context.Context, b *bench.Bench, v *Verdict) error {
	const usual, batch = 50, 20
	count := usual
	if text := os.Getenv(soakVariable); text != "" {
		var err error
		if count, err = strconv.Atoi(text); err != nil || count < 1 {
			return fmt.Errorf("%s=%q: must be a number of rows", soakVariable, text)
		}
	}
	v.Note("the rows were drawn with --seed %d", b.Seed)
	rows := drawn("drawn", count, b.Seed)
	stages := []examStage{{name: "first", set: pullInParallel}}
	for i := 0; i < len(rows); i += batch {
		stage := examStage{name: fmt.Sprintf("batch-%d", i/batch+1), set: agentWith(),
			rows: rows[i:min(i+batch, len(rows))]}
		if i/batch%2 == 1 {
			stage.name, stage.set = stage.name+"-events", agentWith("--events=cluster")
		}
		stages = append(stages, stage)
	}
	return playExam(ctx, b, v, stages)
}

// agentWith restarts the agent with these flags for the stage and all later ones.
func agentWith(flags ...string) func(context.Context, *exam) error {
	return func(ctx context.Context, e *exam) error {
		if err := e.bench.Node.RestartAgentWith(ctx, node.AgentChange{Flags: flags}); err != nil {
			return err
		}
		return settleAgent(ctx, e.bench)
	}
}
