package main

import (
	"context"
	"time"

	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/podwatch"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// newEvents makes the source of the kubelet's Events, or nil when it is off.
func newEvents(d deps, observe func(context.Context, timeline.Observation),
	delay func(time.Duration)) *podwatch.Events {
	c := d.config
	if c.events == eventsOff {
		return nil
	}
	return podwatch.NewEvents(podwatch.EventsConfig{
		Client: d.api.events, NodeName: c.nodeName, Observe: observe, Now: time.Now,
		Cluster: c.events == eventsCluster, Delay: delay,
		Report: d.registerSource(string(timeline.SourceEventWatch), "not started yet"),
	})
}

// countEvents converts the statistics of Event watches for export, with how many Events were used.
func countEvents(s podwatch.EventsStats, used uint64) export.EventWatches {
	return export.EventWatches{
		Opened: s.Opened, Open: s.Open, OpenFor: s.OpenFor, WaitingPods: s.Waiting, Received: s.Received, Used: used,
		Refused: export.RefusedEvents(s.Refused),
	}
}

// countTraffic converts the counts of requests to the API server for export.
func countTraffic(t *podwatch.Traffic) []export.Traffic {
	counts := t.Counts()
	traffic := make([]export.Traffic, len(counts))
	for i, c := range counts {
		traffic[i] = export.Traffic(c)
	}
	return traffic
}
