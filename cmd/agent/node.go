package main

import (
	"context"
	"fmt"
	"time"

	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/internal/node"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Names of parts on the health board. partNode names the watch of the node's object. partPressure names the source
// that reads the kernel's pressure files.
const (
	partNode     = "node_watch"
	partPressure = "pressure"
)

// nodeConfig selects the agent's metrics and observations of the node itself.
type nodeConfig struct {
	health   bool // export metrics of the node's object and of its add-ons
	warmUp   time.Duration
	addons   node.Selector
	pressure bool
}

func (c *config) nodeTable() flags.Table {
	return flags.Table{
		flags.Switch("node-health", "NODE_HEALTH", &c.node.health,
			"export metrics of the node's conditions, the node's availability (with reasons) and the node's "+
				"add-ons. Requires a ServiceAccount that can list and watch nodes"),
		{
			Name: "node-warm-up", Variable: "NODE_WARM_UP", Value: "DURATION", Default: "5m",
			Help: "minimum age at which a node counts as available, 0s to 24h", Set: c.setWarmUp,
		},
		{
			Name: "addons", Variable: "ADDONS", Value: "NAMESPACE[,NAMESPACE...][:LABELS]",
			Default: node.DefaultSelector,
			Help: "pods that --node-health reports as add-ons. These pods are in one of the given namespaces and " +
				"match the label selector LABELS, in the syntax of kubectl get -l. Without a namespace: " +
				"pods in all namespaces. Without LABELS: all pods in the given namespaces",
			Set: func(value string) (err error) { c.node.addons, err = node.ParseSelector(value); return err },
		},
		flags.Switch("pressure", "PRESSURE", &c.node.pressure,
			"for each phase, report the share of the time in which tasks on the node waited for CPU, I/O or memory. "+
				"While pods start, the agent reads /proc/pressure"),
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

// nodeHealth watches the node's object and follows the add-on pods. nodeHealth is nil with --node-health=off.
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
			Client: d.api.pods, NodeName: c.nodeName, Seen: latest.See, Now: time.Now,
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

// newPressure returns the source of the node's pressure. With --pressure=off, newPressure returns nil.
func newPressure(d deps, observe func(context.Context, timeline.Observation)) *node.Pressure {
	if !d.config.node.pressure {
		return nil
	}
	return node.NewPressure(node.PressureConfig{
		Dir: node.PressureFiles, Observe: observe, Now: time.Now,
		Report: d.registerSource(partPressure, "not read yet"),
	})
}
