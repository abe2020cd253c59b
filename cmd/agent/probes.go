package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/internal/probe"
	"github.com/podlapse/podlapse/internal/reconcile"
	"github.com/podlapse/podlapse/pkg/cri"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// partProbes is the name of the probes on the health board.
const partProbes = "probes"

// probeConfig is the configuration of the probes.
type probeConfig struct {
	load func() (probe.Config, error) // nil without --probes-file
	read probe.Config                 // contents of the file at the start of the agent
	node netip.Addr                   // the zero address if unset
}

// probeTable must follow --node-name and --cri-endpoint in the table.
func (c *config) probeTable() flags.Table {
	return flags.Table{
		{
			Name: "node-address", Variable: "NODE_ADDRESS", Value: "IP",
			Help: "IP address of the node, which replaces $(NODE_ADDRESS) in the probes file; in a pod, set the " +
				"variable NODE_ADDRESS from the field status.hostIP", Set: c.setNodeAddress,
		},
		{
			Name: "probes-file", Variable: "PROBES_FILE", Value: "FILE",
			Help: "YAML file with periodic probes of DNS names, ports, HTTP servers, registries, the runtime and the " +
				"API server (docs/probes.md); after each change, the agent rereads the file", Set: c.setProbesFile,
		},
	}
}

func (c *config) setNodeAddress(value string) error {
	if c.probes.node = (netip.Addr{}); value == "" {
		return nil
	}
	address, err := netip.ParseAddr(value)
	if err != nil || address.Zone() != "" {
		return fmt.Errorf("invalid IP address %.80q: must be an address without a zone, for example 10.0.0.7", value)
	}
	c.probes.node = address
	return nil
}

func (c *config) setProbesFile(value string) (err error) {
	if value == "" {
		return nil
	}
	node, runtime := probe.Node{Name: c.nodeName, Address: c.probes.node}, !c.criEndpoint.Off()
	c.probes.load = func() (probe.Config, error) { return loadProbes(value, node, runtime) }
	c.probes.read, err = c.probes.load()
	return err
}

func loadProbes(path string, node probe.Node, runtime bool) (probe.Config, error) {
	config, err := probe.Load(path, node)
	if err != nil {
		return probe.Config{}, err
	}
	if !runtime && slices.ContainsFunc(config.Probes, func(p probe.Probe) bool { return p.Kind == probe.KindCRI }) {
		return probe.Config{}, errors.New("probes of kind cri require a container runtime: remove these probes or " +
			"unset --cri-endpoint=off")
	}
	return config, nil
}

// newProbes returns the runner of the probes. Without --probes-file, newProbes returns nil. The argument runtime is
// nil with --cri-endpoint=off.
func newProbes(d deps, runtime *cri.Source, reconciler *reconcile.Reconciler) *probe.Runner {
	c := d.config
	if c.probes.load == nil {
		return nil
	}
	config := probe.RunnerConfig{
		Config: c.probes.read, Load: c.probes.load, Recorder: probe.NewMetrics(d.registry, c.probes.read.Probes),
		APIServer: askVersion(d.api.own),
		Pulled: func(ctx context.Context) []string {
			present, _ := reconciler.Present(ctx) // empty while the agent stops
			return pulledFrom(present)
		},
		Report: d.board.Register(partProbes, "not started yet"), Logger: d.logger.Named("probe"),
	}
	if runtime != nil {
		config.Runtime = runtime.Ping
	}
	return probe.NewRunner(config)
}

// askVersion requests the API server's version. Every account can read the version, and the API server does not
// query etcd for the answer.
func askVersion(client rest.Interface) probe.RoundTrip {
	return func(ctx context.Context) error {
		return client.Get().AbsPath("/version").MaxRetries(0).
			Throttle(flowcontrol.NewFakeAlwaysRateLimiter()). // the measured time must not include waits in the client
			Do(ctx).Error()
	}
}

// pulledFrom lists the registries of the pods' images, the most used registry first. pulledFrom counts only confirmed
// successful pulls, because a user can write any registry name into a pod or an Event.
func pulledFrom(pods []timeline.Timeline) []string {
	pulls := map[string]int{}
	for _, t := range pods {
		for _, p := range t.Pulls {
			if !p.Confirmed {
				continue
			}
			switch p.Outcome {
			case imagepull.OutcomeDownloaded, imagepull.OutcomeVerified, imagepull.OutcomeJoined:
				pulls[p.Registry]++
			}
		}
	}
	delete(pulls, imagepull.UnknownRegistry)
	return slices.SortedFunc(maps.Keys(pulls), func(a, b string) int {
		return cmp.Or(cmp.Compare(pulls[b], pulls[a]), cmp.Compare(a, b))
	})
}
