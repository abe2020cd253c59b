package scenario

import (
	"context"
	"errors"

	"github.com/podlapse/podlapse/lab/internal/bench"
)

func eventCost(ctx context.Context, b *bench.Bench, v *Verdict) error { return errors.New("todo") }
