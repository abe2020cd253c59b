package scenario

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/podlapse/podlapse/lab/internal/bench"
)

// soakVariable names how many rows the soak draws.
const soakVariable = "PODLAPSE_BLAME_ROWS"

// blameSoak plays rows whose faults are drawn, as many as the environment asks for, and judges them as the exam does.
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
		stages = append(stages,
			examStage{name: fmt.Sprintf("batch-%d", i/batch+1), rows: rows[i:min(i+batch, len(rows))]})
	}
	return playExam(ctx, b, v, stages)
}
