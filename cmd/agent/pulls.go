package main

import (
	"context"
	"time"

	"github.com/podlapse/podlapse/internal/reconcile"
	"github.com/podlapse/podlapse/pkg/cri"
	"github.com/podlapse/podlapse/pkg/export"
)

// livePullsFunc returns the image pulls in progress.
type livePullsFunc func(context.Context) (export.LivePulls, error)

// livePulls combines the pulls that the kubelet wants with the downloads of the runtime, which is nil without one.
func livePulls(reconciler *reconcile.Reconciler, runtime *cri.Source) livePullsFunc {
	return func(ctx context.Context) (export.LivePulls, error) {
		pulling, err := reconciler.Pulling(ctx)
		if err != nil {
			return export.LivePulls{}, err
		}
		now := export.LivePulls{Starting: pulling.Timelines, Idle: pulling.Idle, Now: time.Now()}
		if runtime != nil {
			now.Downloads, _ = runtime.Downloads(ctx, now.Since()) // without them, how far a pull is stays unknown
		}
		return now, nil
	}
}
