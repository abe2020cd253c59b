package main

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/podlapse/podlapse/internal/livepull"
	"github.com/podlapse/podlapse/internal/reconcile"
	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// registerReadings registers the metrics that the agent computes at each scrape. While the agent stops, queries to the
// reconciler can fail. The metrics then report no pods, no image pulls and no clock skew.
func registerReadings(ctx context.Context, d deps, r *reconcile.Reconciler, from sources, pulls livePullsFunc) {
	d.registry.MustRegister(
		export.NewClockSkew(func() timeline.Skew {
			skew, _ := r.Skew(ctx)
			return skew
		}),
		export.NewStarting(func() []timeline.Timeline {
			starting, _ := r.Starting(ctx)
			return pulls.boundOpenPhases(ctx, starting)
		}),
		d.api.traffic, from.pods.RestartMetrics(),
	)
	if d.config.podSeries {
		d.registry.MustRegister(export.NewPodSeries(func() []timeline.Timeline {
			present, _ := r.Present(ctx)
			return present
		}))
	}
	d.registry.MustRegister(livepull.NewCollector(func() livepull.Snapshot {
		now, _ := pulls(ctx)
		return now
	}))
	if from.events != nil {
		d.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "podlapse_events_used_total", Help: "Kubelet Events that added evidence to a start-up.",
		}, func() float64 { return float64(r.EventsUsed()) }))
	}
}
