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

// livePulls returns a livePullsFunc. The function combines the runtime's downloads with the pods and containers for
// which the kubelet can pull an image. The argument "runtime" is nil with --cri-endpoint=off.
func livePulls(reconciler *reconcile.Reconciler, runtime *cri.Source) livePullsFunc {
	return func(ctx context.Context) (livepull.Snapshot, error) {
		pulling, err := reconciler.Pulling(ctx)
		if err != nil {
			return livepull.Snapshot{}, err
		}
		now := livepull.Snapshot{Starting: pulling.Timelines, Idle: pulling.Idle, Now: time.Now()}
		if runtime != nil {
			// an error means that the runtime did not respond, so the progress of the pulls is unknown
			now.Downloads, _ = runtime.Downloads(ctx, now.Since())
		}
		return now, nil
	}
}

// While the runtime downloads or unpacks the image of a starting pod, boundOpenPhases splits the pod's phase in
// progress: see livepull.Snapshot.Bound. If a download cannot change the phase in progress of any timeline,
// boundOpenPhases does not query the runtime. If the agent is stopping, boundOpenPhases returns the timelines
// unchanged.
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
