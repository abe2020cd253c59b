package main

import (
	"context"
	"time"

	"github.com/podlapse/podlapse/internal/eventwatch"
	"github.com/podlapse/podlapse/internal/node"
	"github.com/podlapse/podlapse/pkg/cri"
	"github.com/podlapse/podlapse/pkg/podwatch"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// sources holds the sources of observations about the node's pods.
type sources struct {
	pods     *podwatch.Pods
	events   *eventwatch.Source // nil with --events=off
	runtime  *cri.Source        // nil with --cri-endpoint=off
	pressure *node.Pressure     // nil with --pressure=off
}

// sourcesConfig connects the sources to the rest of the agent.
type sourcesConfig struct {
	observe func(context.Context, timeline.Observation)
	known   []string // UIDs of pods that a previous agent observed: see podwatch.Config
	onNode  *ownNode // nil with --node-health=off and --node-startup=off
	added   features
}

func newSources(d deps, to sourcesConfig) sources {
	c := d.config
	var s sources
	pods := podwatch.Config{
		Client: d.api.pods, AsNode: c.asNode, NodeName: c.nodeName, Observe: to.observe, Now: time.Now,
		Report: d.registerSource(string(timeline.SourcePodWatch), "not connected to the API server yet"),
		Known:  to.known,
		Traits: c.recordsNeedTraits(), Terminations: c.termination,
		Follower: podFollowersOf(to.onNode, to.added),
	}
	to.added.podWatch(&pods)
	s.pods = podwatch.NewPods(pods)
	s.runtime = newRuntime(d, to.observe)
	s.events = newEvents(d, s.runtime, to.observe, to.added.eventDelay())
	s.pressure = newPressure(d, to.observe)
	return s
}

// newRuntime returns the source that queries the container runtime. With --cri-endpoint=off, newRuntime returns
// nil.
func newRuntime(d deps, observe func(context.Context, timeline.Observation)) *cri.Source {
	if d.config.criEndpoint.Off() {
		return nil
	}
	return cri.New(cri.Config{
		Endpoint: d.config.criEndpoint, Observe: observe, Now: time.Now,
		Report: d.registerSource(string(timeline.SourceCRI), "not connected to the container runtime yet"),
		Logger: d.logger.Named("cri"), Registerer: d.registry,
	})
}

// RequestRuntime implements reconcile.Sources.
func (s sources) RequestRuntime(request timeline.RuntimeRequest) {
	if s.runtime != nil {
		s.runtime.Request(request)
	}
}

// PodStarting implements reconcile.Sources.
func (s sources) PodStarting() {
	if s.events != nil {
		s.events.PodStarting()
	}
}

// WatchEvents implements reconcile.Sources.
func (s sources) WatchEvents(w timeline.EventWatch) {
	if s.events != nil {
		s.events.Watch(w)
	}
}

// UnwatchEvents implements reconcile.Sources.
func (s sources) UnwatchEvents(uid string) {
	if s.events != nil {
		s.events.Unwatch(uid)
	}
}

// SampleNode implements reconcile.Sources.
func (s sources) SampleNode(on bool) {
	if s.pressure != nil {
		s.pressure.Sample(on)
	}
	if s.runtime != nil {
		s.runtime.Watch(on)
	}
}

func (s sources) components() []component {
	var list []component
	if s.runtime != nil {
		list = append(list, component{"cri", stageSources, s.runtime.Run})
	}
	if s.events != nil {
		list = append(list, component{"event_watch", stageSources, s.events.Run})
	}
	list = append(list, component{"pod_watch", stageSources, s.pods.Run})
	if s.pressure != nil {
		list = append(list, component{partPressure, stageSources, s.pressure.Run})
	}
	return list
}
