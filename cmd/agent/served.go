package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/history"
	"github.com/podlapse/podlapse/internal/live"
	"github.com/podlapse/podlapse/internal/reconcile"
	"github.com/podlapse/podlapse/internal/web"
	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/podwatch"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// historyPods is how many pods that are gone are told of at most.
const historyPods = 1000

// served is what the read API keeps or follows itself.
type served struct {
	startedAt time.Time
	history   *history.History
	live      *live.Hub
	objects   *podwatch.Objects // nil without --serve-objects
	pulls     func(context.Context) (export.LivePulls, error)
}

// newServed wires what reconcile tells of; reconciler is asked for when all runs.
func newServed(c config, reconciler func() *reconcile.Reconciler, registry prometheus.Registerer, logger *zap.Logger) *served {
	s := &served{startedAt: time.Now(), history: history.New(history.Config{
		Pods: historyPods, Bytes: c.historyBytes, Now: time.Now, Registerer: registry, Logger: logger.Named("history"),
	})}
	s.live = live.New(live.Config{
		Some: func(ctx context.Context, uids []string) ([]timeline.Timeline, error) {
			return reconciler().Some(ctx, uids)
		},
		Pulls: func(ctx context.Context) (export.LivePulls, error) { return s.pulls(ctx) },
		Now:   time.Now, Registerer: registry, Logger: logger.Named("stream"),
	})
	if c.serveObjects {
		s.objects = podwatch.NewObjects(time.Now)
	}
	return s
}

// forgotten is told of pods that are gone. The history has them before the stream says so.
func (s *served) forgotten(t timeline.Timeline) {
	s.history.Add(t)
	s.live.Gone(t)
}

func (s *served) api(c config, build export.Build, skew func(context.Context) (timeline.Skew, error)) web.API {
	api := web.API{
		Node: c.nodeName, Build: build, StartedAt: s.startedAt, Now: time.Now, Skew: skew, History: s.history, Live: s.live,
	}
	if s.objects != nil {
		api.Objects = s.objects.WriteList
	}
	return api
}
