package main

import (
	"context"
	"fmt"
	"time"

	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/internal/node"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// The names, on the health board, of the watch of the node's object and of the source that reads the kernel's pressure
// files.
const (
	partNode     = "node_watch"
	partPressure = "pressure"
)

// nodeConfig selects what the agent reports about the node itself.
type nodeConfig struct {
	health   bool // from its object and its add-ons
	warmUp   time.Duration
	addons   node.Selector
	pressure bool
}

func (c *config) nodeTable() flags.Table {
	return flags.Table{
		flags.Switch("node-health", "NODE_HEALTH", &c.node.health,
			"export metrics of the node: its conditions, its availability with the reasons, and its add-ons; "+
				"requires permission to list and watch nodes"),
		{
			Name: "node-warm-up", Variable: "NODE_WARM_UP", Value: "DURATION", Default: "5m",
			Help: "minimum age of an available node, 0s to 24h", Set: c.setWarmUp,
		},
		{
			Name: "addons", Variable: "ADDONS", Value: "NAMESPACE[,NAMESPACE...][:LABELS]",
			Default: node.DefaultSelector,
			Help: "with --node-health, select the add-ons: the pods in these namespaces (in all namespaces if none " +
				"is given) that match LABELS, a label selector as in kubectl get -l",
			Set: func(value string) (err error) { c.node.addons, err = node.ParseSelector(value); return err },
		},
		flags.Switch("pressure", "PRESSURE", &c.node.pressure,
			"report how long tasks on the node waited for cpu, io and memory during each phase; reads "+
				"/proc/pressure while pods start"),
	}
}

func (c *config) setWarmUp(value string) error {
	parsed, err := time.ParseDuration(value)
	if err != nil || parsed < 0 || parsed > 24*time.Hour {
		return fmt.Errorf("invalid duration %q: must be 0s to 24h, for example 5m", value)
	}
	c.node.warmUp = parsed
	return nil
}

// nodeHealth watches the node's object and follows the pods that are add-ons. It is nil when it is off.
type nodeHealth struct {
	watch  *node.Watch
	addons *node.Addons
}

func newNodeHealth(d deps) *nodeHealth {
	c := d.config
	if !c.node.health {
		return nil
	}
	latest := &node.Latest{}
	h := &nodeHealth{
		watch: node.NewWatch(node.WatchConfig{
			Client: d.api.pods, NodeName: c.nodeName, Seen: latest.See,
			Report: d.registerSource(partNode, "not connected to the API server yet"),
		}),
		addons: node.NewAddons(c.node.addons, time.Now),
	}
	d.registry.MustRegister(node.NewMetrics(node.MetricsConfig{
		Health: latest.Health, Addons: h.addons.State, Now: time.Now, WarmUp: c.node.warmUp,
	}))
	return h
}

func (h *nodeHealth) components() []component {
	if h == nil {
		return nil
	}
	return []component{{partNode, stageSources, h.watch.Run}}
}

// newPressure makes the source of the node's pressure, or nil when it is off.
func newPressure(d deps, observe func(context.Context, timeline.Observation)) *node.Pressure {
	if !d.config.node.pressure {
		return nil
	}
	return node.NewPressure(node.PressureConfig{
		Dir: node.PressureFiles, Observe: observe, Now: time.Now,
		Report: d.registerSource(partPressure, "not read yet"),
	})
}
