package main

import (
	"context"
	"time"

	"github.com/podlapse/podlapse/internal/livepull"
	"github.com/podlapse/podlapse/internal/reconcile"
	"github.com/podlapse/podlapse/pkg/cri"
)

// livePullsFunc returns the image pulls in progress.
type livePullsFunc func(context.Context) (livepull.Snapshot, error)

// livePulls combines the pulls that the kubelet wants with the downloads of the runtime; runtime is nil if the agent
// uses none.
func livePulls(reconciler *reconcile.Reconciler, runtime *cri.Source) livePullsFunc {
	return func(ctx context.Context) (livepull.Snapshot, error) {
		pulling, err := reconciler.Pulling(ctx)
		if err != nil {
			return livepull.Snapshot{}, err
		}
		now := livepull.Snapshot{Starting: pulling.Timelines, Idle: pulling.Idle, Now: time.Now()}
		if runtime != nil {
			now.Downloads, _ = runtime.Downloads(ctx, now.Since()) // without them, how far a pull is stays unknown
		}
		return now, nil
	}
}
