package main

import (
	"context"
	"time"

	"github.com/podlapse/podlapse/internal/eventwatch"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// newEvents returns the source of the kubelet's Events. With --events=off, newEvents returns nil.
func newEvents(d deps, observe func(context.Context, timeline.Observation),
	delay func(time.Duration)) *eventwatch.Source {
	c := d.config
	if c.events == eventsOff {
		return nil
	}
	return eventwatch.New(eventwatch.Config{
		Client: d.api.events, NodeName: c.nodeName, Observe: observe, Now: time.Now,
		Cluster: c.events == eventsCluster, Delay: delay, Registerer: d.registry,
		Report: d.registerSource(string(timeline.SourceEventWatch), "not started yet"),
	})
}
