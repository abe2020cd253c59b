package main

import (
	"context"
	"time"

	"github.com/podlapse/podlapse/internal/eventwatch"
	"github.com/podlapse/podlapse/pkg/cri"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// newEvents returns the source of the kubelet's Events. With --events=off, newEvents returns nil. The argument
// "runtime" is nil with --cri-endpoint=off.
func newEvents(d deps, runtime *cri.Source, observe func(context.Context, timeline.Observation),
	delay func(time.Duration)) *eventwatch.Source {
	c := d.config
	if c.events == eventsOff {
		return nil
	}
	return eventwatch.New(eventwatch.Config{
		Client: d.api.events, NodeName: c.nodeName, Observe: observe, Now: time.Now,
		Cluster: c.events == eventsCluster, WithoutStarts: withoutStarts(c, runtime), Delay: delay,
		Registerer: d.registry,
		Report:     d.registerSource(string(timeline.SourceEventWatch), "not started yet"),
	})
}

// withoutStarts returns the function that decides whether an Event watch leaves out the Events Created and Started. The
// runtime reports in nanoseconds when each container was created and started. So while the runtime is connected,
// records do not need the Events Created and Started.
//
// withoutStarts returns nil if every watch must include the Events Created and Started. Without a runtime, records
// need these Events to show when a container was created and started. With --events=cluster, every watch includes the
// Events Created and Started, because the traces of --life-traces contain all Events.
func withoutStarts(c config, runtime *cri.Source) func() bool {
	if runtime == nil || c.events == eventsCluster {
		return nil
	}
	return runtime.Connected
}
