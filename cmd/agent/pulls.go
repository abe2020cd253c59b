package main

import (
	"context"
	"slices"
	"time"

	"github.com/podlapse/podlapse/internal/livepull"
	"github.com/podlapse/podlapse/internal/reconcile"
	"github.com/podlapse/podlapse/pkg/cri"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// livePullsFunc returns the image pulls in progress.
type livePullsFunc func(context.Context) (livepull.Snapshot, error)

// livePulls returns a livePullsFunc that combines two lists: the pulls that the kubelet requested, and the runtime's
// downloads. The argument "runtime" is nil with --cri-endpoint=off.
func livePulls(reconciler *reconcile.Reconciler, runtime *cri.Source) livePullsFunc {
	return func(ctx context.Context) (livepull.Snapshot, error) {
		pulling, err := reconciler.Pulling(ctx)
		if err != nil {
			return livepull.Snapshot{}, err
		}
		now := livepull.Snapshot{Starting: pulling.Timelines, Idle: pulling.Idle, Now: time.Now()}
		if runtime != nil {
			// after an error, the progress of the pulls is unknown
			now.Downloads, _ = runtime.Downloads(ctx, now.Since())
		}
		return now, nil
	}
}

// boundOpenPhases splits the phase in progress of each starting pod whose image the runtime is downloading or
// unpacking: see livepull.Snapshot.Bound. boundOpenPhases queries the runtime only if a download can change the phase
// in progress of at least one timeline. If the agent is stopping, boundOpenPhases returns the timelines unchanged.
func (pulls livePullsFunc) boundOpenPhases(ctx context.Context, timelines []timeline.Timeline) []timeline.Timeline {
	if !slices.ContainsFunc(timelines, livepull.Undecided) {
		return timelines
	}
	now, err := pulls(ctx)
	if err != nil {
		return timelines
	}
	return now.Bound(timelines)
}
