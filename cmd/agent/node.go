package main

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/podlapse/podlapse/pkg/health"
	"github.com/podlapse/podlapse/pkg/node"
	"github.com/podlapse/podlapse/pkg/podwatch"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// What the health board calls the watch of the node's own object, and the kernel's pressure files.
const (
	partNode     = "node_watch"
	partPressure = "pressure"
)

// nodeConfig is what is told of the node itself.
type nodeConfig struct {
	health   bool // from its object and its add-ons
	warmUp   time.Duration
	addons   node.Selector
	pressure bool
}

// The values of --node-health and --pressure.
const (
	nodeHealthOn  = "on"
	nodeHealthOff = "off"
	pressureOn    = "on"
	pressureOff   = "off"
)

func (c *config) nodeSettings() []setting {
	return []setting{
		{
			flag: "node-health", variable: "NODE_HEALTH", value: "on|off", def: nodeHealthOff, alone: nodeHealthOn,
			help: "whether metrics tell of the node itself, its conditions, whether it is available and why not, and of its add-ons; " +
				"needs list and watch of nodes",
			set: onOff(&c.node.health, nodeHealthOn, nodeHealthOff),
		},
		{
			flag: "node-warm-up", variable: "NODE_WARM_UP", value: "DURATION", def: "5m",
			help: "how old a node must be to be available, 0 to 24h", set: c.setWarmUp,
		},
		{
			flag: "addons", variable: "ADDONS", value: "NAMESPACE[,NAMESPACE...][:LABELS]", def: node.DefaultSelector,
			help: "which pods are add-ons, with --node-health: those of some namespaces, or of all, as in :LABELS, with labels as for kubectl get -l",
			set:  func(value string) (err error) { c.node.addons, err = node.ParseSelector(value); return err },
		},
		{
			flag: "pressure", variable: "PRESSURE", value: "on|off", def: pressureOff, alone: pressureOn,
			help: "whether phases tell for how much of them tasks of the node waited for cpu, io and memory; read from /proc/pressure " +
				"while pods start", set: onOff(&c.node.pressure, pressureOn, pressureOff),
		},
	}
}

func (c *config) setWarmUp(value string) error {
	parsed, err := time.ParseDuration(value)
	if err != nil || parsed < 0 || parsed > 24*time.Hour {
		return fmt.Errorf("%q is no length of time: want 0s to 24h, such as 5m", value)
	}
	c.node.warmUp = parsed
	return nil
}

// nodeHealth is the watch of the node's object, and who follows the pods that are add-ons. It is nil when it is off.
type nodeHealth struct {
	object *podwatch.NodeObject
	addons *node.Addons
}

func newNodeHealth(c config, api apiServer, registry prometheus.Registerer, board *health.Board) *nodeHealth {
	if !c.node.health {
		return nil
	}
	latest := &node.Latest{}
	h := &nodeHealth{
		object: podwatch.NewNodeObject(podwatch.NodeConfig{
			Client: api.pods, NodeName: c.nodeName, Seen: latest.See, Report: board.Register(partNode, "not connected to the API server yet"),
		}),
		addons: node.NewAddons(c.node.addons, time.Now),
	}
	registry.MustRegister(node.NewMetrics(node.MetricsConfig{
		Health: latest.Health, Addons: h.addons.State, Now: time.Now, WarmUp: c.node.warmUp,
	}))
	return h
}

// follower is who is told of pod objects, if anybody.
func (h *nodeHealth) follower() podwatch.Follower {
	if h == nil {
		return nil
	}
	return h.addons
}

// newPressure makes the source of the node's pressure, or nil when it is off.
func newPressure(c config, observe func(context.Context, timeline.Observation), board *health.Board) *node.Pressure {
	if !c.node.pressure {
		return nil
	}
	return node.NewPressure(node.PressureConfig{
		Dir: node.PressureFiles, Observe: observe, Now: time.Now, Report: board.Register(partPressure, "not read yet"),
	})
}
