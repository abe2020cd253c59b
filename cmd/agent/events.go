package main

import (
	"context"
	"time"

	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/podwatch"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// newEvents makes the source of kubelet's Events, or nil when it is off.
func newEvents(c config, client rest.Interface, observe func(context.Context, timeline.Observation), delay func(time.Duration), board *health.Board) *podwatch.Events {
	if c.events == eventsOff {
		return nil
	}
	return podwatch.NewEvents(podwatch.EventsConfig{
		Client: client, NodeName: c.nodeName, Observe: observe, Now: time.Now, Cluster: c.events == eventsCluster, Delay: delay,
		Report: board.Register(string(timeline.SourceEventWatch), "not started yet"),
	})
}

// countEvents is what Event watches cost, in the words of the metrics, beside what they were good for.
func countEvents(s podwatch.EventsStats, used uint64) export.EventWatches {
	return export.EventWatches{
		Opened: s.Opened, Open: s.Open, OpenFor: s.OpenFor, WaitingPods: s.Waiting, Received: s.Received, Used: used,
		Refused: export.RefusedEvents(s.Refused),
	}
}

// countTraffic says in the words of export what the agent asked of the API server.
func countTraffic(t *podwatch.Traffic) []export.Traffic {
	counts := t.Counts()
	traffic := make([]export.Traffic, len(counts))
	for i, c := range counts {
		traffic[i] = export.Traffic(c)
	}
	return traffic
}
