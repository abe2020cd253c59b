package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/internal/node"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Names of parts in the agent's health status (health.Board). partNode names the watch of the node's object.
// partPressure names the source that reads the kernel's pressure files. partNodeStartUp names the part that follows the
// node's start-up.
const (
	partNode        = "node_watch"
	partPressure    = "pressure"
	partNodeStartUp = "node_startup"
)

// nodeConfig selects the agent's metrics and observations of the node itself.
type nodeConfig struct {
	health   bool // export metrics of the node's object and of its add-ons
	warmUp   time.Duration
	addons   node.Selector
	pressure bool
	startUp  bool   // follow the start-up of the node itself
	procDir  string // directory of the proc file system
}

func (c *config) nodeTable() flags.Table {
	return flags.Table{
		flags.Switch("node-health", "NODE_HEALTH", &c.node.health,
			"export metrics of the node's conditions, the node's availability (with reasons) and the node's "+
				"add-ons. Requires a ServiceAccount that can list and watch nodes"),
		{
			Name: "node-warm-up", Variable: "NODE_WARM_UP", Value: "DURATION", Default: "5m",
			Help: "minimum age of an available node, 0s to 24h. While the node is younger, --node-health reports it " +
				"as unavailable",
			Set: c.setWarmUp,
		},
		{
			Name: "addons", Variable: "ADDONS", Value: "[NAMESPACE,...][:LABELS]",
			Default: node.DefaultSelector,
			Help: "pods that --node-health reports as add-ons: the pods that are in one of the namespaces and match " +
				"LABELS. LABELS is a label selector in the syntax of \"kubectl get -l\". Without a NAMESPACE: " +
				"matching pods in all namespaces. Without LABELS: all pods in the namespaces",
			Set: func(value string) (err error) { c.node.addons, err = node.ParseSelector(value); return err },
		},
		flags.Switch("pressure", "PRESSURE", &c.node.pressure,
			"report the pressure during each phase: the share of the phase's time during which tasks on the node "+
				"waited for CPU, I/O or memory. While pods start, the agent reads /proc/pressure"),
		flags.Switch("node-startup", "NODE_STARTUP", &c.node.startUp,
			"measure the start-up of the node itself, from the boot of the machine until the first workload pod is "+
				"ready. Until the measurement is complete, the agent repeatedly lists the Node object: once per "+
				"second in the agent's first 3 minutes, then every 10 seconds. Requires a ServiceAccount that can "+
				"list and watch nodes"),
		{
			Name: "proc-dir", Variable: "PROC_DIR", Value: "DIR", Default: node.ProcDir,
			Help: "directory of the proc file system, from which --node-startup reads the boot time of the machine. " +
				"Set this flag if a tool such as LXCFS replaces files in the /proc of the agent's container",
			Set: flags.Text(&c.node.procDir),
		},
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

// ownNode watches the node's object for --node-health and --node-startup. ownNode is nil if --node-health and
// --node-startup are off.
type ownNode struct {
	watch   *node.Watch
	addons  *node.Addons  // nil with --node-health=off
	startUp *node.StartUp // nil with --node-startup=off
}

// newOwnNode returns the parts of the agent that observe the node itself. The function "record" receives the node's
// start-up.
func newOwnNode(d deps, k *core, record func(api.NodeStartUpRecord)) *ownNode {
	c := d.config
	if !c.node.health && !c.node.startUp {
		return nil
	}
	h := &ownNode{}
	var see []func(*corev1.Node, time.Time)
	if c.node.health {
		latest := &node.Latest{}
		see = append(see, latest.See)
		h.addons = node.NewAddons(c.node.addons, time.Now)
		d.registry.MustRegister(node.NewMetrics(node.MetricsConfig{
			Health: latest.Health, Addons: h.addons.State, Now: time.Now, WarmUp: c.node.warmUp,
		}))
	}
	h.watch = node.NewWatch(node.WatchConfig{
		Client: d.api.pods, NodeName: c.nodeName, Now: time.Now,
		Seen: func(n *corev1.Node, requestedAt time.Time) {
			for _, one := range see {
				one(n, requestedAt)
			}
		},
		Report: d.registerSource(partNode, "not connected to the API server yet"),
	})
	if c.node.startUp {
		h.startUp = newNodeStartUp(d, k, record)
		see = append(see, h.startUp.SeeNode)
	}
	return h
}

// When the pod watch has been open for podsListed, the agent assumes that it has received the list of the node's pods.
const podsListed = 2 * time.Second

func newNodeStartUp(d deps, k *core, record func(api.NodeStartUpRecord)) *node.StartUp {
	config := node.StartUpConfig{
		ProcDir: d.config.node.procDir, Client: d.api.pods, NodeName: d.config.nodeName,
		Present: k.presentTimelines,
		Skew:    func(ctx context.Context) (timeline.Skew, error) { return k.reconciler.Skew(ctx) },
		PodsListed: func() bool {
			return slices.ContainsFunc(d.board.Statuses(), func(s health.Status) bool {
				return s.Part == string(timeline.SourcePodWatch) && s.Up && time.Since(s.Since) >= podsListed
			})
		},
		Settled: record, Now: time.Now, Logger: d.logger.Named("node_startup"),
		Report: d.board.Register(partNodeStartUp, "not started yet"),
	}
	if d.config.events != eventsOff {
		config.Events = d.api.own
	}
	s := node.NewStartUp(config)
	d.registry.MustRegister(s.Metrics())
	return s
}

func (h *ownNode) components() []component {
	if h == nil {
		return nil
	}
	list := []component{{partNode, stageSources, h.watch.Run}}
	if h.startUp != nil {
		list = append(list, component{partNodeStartUp, stageSources, h.startUp.Run})
	}
	return list
}

// record returns the function that the read API calls to get the record of the node's start-up. With
// --node-startup=off, record returns nil.
func (h *ownNode) record() func() (api.NodeStartUpRecord, bool) {
	if h == nil || h.startUp == nil {
		return nil
	}
	return h.startUp.Record
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
