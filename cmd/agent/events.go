package main

import (
	"context"
	"time"

	"github.com/podlapse/podlapse/internal/eventwatch"
	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// newEvents makes the source of the kubelet's Events, or nil when it is off.
func newEvents(d deps, observe func(context.Context, timeline.Observation),
	delay func(time.Duration)) *eventwatch.Source {
	c := d.config
	if c.events == eventsOff {
		return nil
	}
	return eventwatch.New(eventwatch.Config{
		Client: d.api.events, NodeName: c.nodeName, Observe: observe, Now: time.Now,
		Cluster: c.events == eventsCluster, Delay: delay,
		Report: d.board.Register(string(timeline.SourceEventWatch), "not started yet"),
	})
}

// countEvents converts the statistics of Event watches for export, with how many Events were used.
func countEvents(s eventwatch.Stats, used uint64) export.EventWatches {
	return export.EventWatches{
		Opened: s.Opened, Open: s.Open, OpenFor: s.OpenFor, WaitingPods: s.Waiting, Received: s.Received, Used: used,
		Refused: export.RefusedEvents(s.Refused),
	}
}
