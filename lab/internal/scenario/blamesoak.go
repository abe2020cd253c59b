package scenario

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/node"
)

// soakVariable names the environment variable with the number of start-ups for the scenario "blame-soak".
const soakVariable = "PODLAPSE_BLAME_ROWS"

// blameSoak runs start-ups with randomly drawn faults, and judges them in the same way as the scenario "blame". An
// environment variable sets the number of start-ups. During every second batch of start-ups, the agent watches all
// Events of the cluster. The Events of other pods must not make the agent's reports wrong.
func blameSoak(ctx context.Context, b *bench.Bench, v *Verdict) error {
	const usual, batch = 50, 20
	count := usual
	if text := os.Getenv(soakVariable); text != "" {
		var err error
		if count, err = strconv.Atoi(text); err != nil || count < 1 {
			return fmt.Errorf("%s=%q: must be a number of rows, at least 1", soakVariable, text)
		}
	}
	v.Note("the rows were drawn with --seed %d", b.Seed)
	rows := drawRows("drawn", count, b.Seed)
	stages := []examStage{{name: "first", prepareNode: pullInParallel}}
	for i := 0; i < len(rows); i += batch {
		stage := examStage{name: fmt.Sprintf("batch-%d", i/batch+1), prepareNode: agentWith(),
			rows: rows[i:min(i+batch, len(rows))]}
		if i/batch%2 == 1 {
			stage.name, stage.prepareNode = stage.name+"-events", agentWith("--events=cluster")
		}
		stages = append(stages, stage)
	}
	return playExam(ctx, b, v, stages)
}

// agentWith returns a function that restarts the agent with the given flags. The agent keeps these flags until another
// restart changes them.
func agentWith(flags ...string) func(context.Context, *exam) error {
	return func(ctx context.Context, e *exam) error {
		if err := e.bench.Node.RestartAgentWith(ctx, node.AgentChange{Flags: flags}); err != nil {
			return err
		}
		return awaitAgentAge(ctx, e.bench)
	}
}
