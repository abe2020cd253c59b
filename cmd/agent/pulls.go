package main

import (
	"context"
	"time"

	"github.com/podlapse/podlapse/internal/reconcile"
	"github.com/podlapse/podlapse/pkg/cri"
	"github.com/podlapse/podlapse/pkg/export"
)

// livePulls puts together what kubelet wants pulled and what the runtime downloads; runtime is nil without one.
func livePulls(reconciler *reconcile.Reconciler, runtime *cri.Source) func(context.Context) (export.LivePulls, error) {
	return func(ctx context.Context) (export.LivePulls, error) {
		pulling, err := reconciler.Pulling(ctx)
		if err != nil {
			return export.LivePulls{}, err
		}
		now := export.LivePulls{Starting: pulling.Timelines, Idle: pulling.Idle, Now: time.Now()}
		if runtime != nil {
			now.Downloads, _ = runtime.Downloads(ctx, now.Since()) // without them it is not known what comes
		}
		return now, nil
	}
}
