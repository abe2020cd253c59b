package main

import (
	"context"

	"github.com/podlapse/podlapse/internal/reconcile"
	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// registerReadings registers the metrics that are read at each scrape. Metrics that query the reconciler are empty
// while the agent stops.
func registerReadings(ctx context.Context, d deps, r *reconcile.Reconciler, from sources, pulls livePullsFunc) {
	d.registry.MustRegister(
		export.NewClockSkew(func() timeline.Skew {
			skew, _ := r.Skew(ctx)
			return skew
		}),
		export.NewStarting(func() []timeline.Timeline {
			starting, _ := r.Starting(ctx)
			return starting
		}),
		export.NewTraffic(func() []export.Traffic { return countTraffic(d.api.traffic) }),
		export.NewRestarts(func() []export.Restarts { return countRestarts(from.pods.Restarts()) }),
		export.NewReconstructed(func() export.Reconstructed { return export.Reconstructed(r.Reconstructed()) }),
	)
	if d.config.podSeries {
		d.registry.MustRegister(export.NewPodSeries(func() []timeline.Timeline {
			present, _ := r.Present(ctx)
			return present
		}))
	}
	d.registry.MustRegister(export.NewLivePulls(func() export.LivePulls {
		now, _ := pulls(ctx)
		return now
	}))
	if from.events != nil {
		d.registry.MustRegister(export.NewEventWatches(func() export.EventWatches {
			return countEvents(from.events.Stats(), r.EventsUsed())
		}))
	}
}
