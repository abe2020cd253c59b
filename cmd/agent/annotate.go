package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/annotate"
	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/internal/reconcile"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// partAnnotations is what the health board calls who annotates pods.
const partAnnotations = "annotations"

// newAnnotator makes who annotates pods, or nil without --annotate; reconciler is asked for when all runs.
func newAnnotator(c config, client rest.Interface, reconciler func() *reconcile.Reconciler, registry prometheus.Registerer, board *health.Board) *annotate.Annotator {
	if !c.annotate {
		return nil
	}
	return annotate.New(annotate.Config{
		Client: client, NodeName: c.nodeName,
		Timelines: func(ctx context.Context, uids []string) ([]timeline.Timeline, error) {
			return reconciler().Some(ctx, uids)
		},
		Now: time.Now, Report: board.Register(partAnnotations, "not started yet"), Registerer: registry,
	})
}
