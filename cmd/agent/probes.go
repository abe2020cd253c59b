package main

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/pkg/cri"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/probe"
	"github.com/podlapse/podlapse/pkg/reconcile"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// probeSettings come after --cri-endpoint in the table.
func (c *config) probeSettings() []setting {
	return []setting{{
		flag: "probes-file", variable: "PROBES_FILE", value: "FILE",
		help: "what to ask again and again, in YAML: names, ports, HTTP servers, registries, the runtime, the API server; see " +
			"docs/probes.md; it is read once", set: c.setProbesFile,
	}}
}

func (c *config) setProbesFile(value string) error {
	if value == "" {
		return nil
	}
	probes, err := probe.Load(value)
	if err != nil {
		return err
	}
	if c.criEndpoint.Off() && slices.ContainsFunc(probes.Probes, func(p probe.Probe) bool { return p.Kind == probe.KindCRI }) {
		return errors.New("probes of kind cri need the runtime: take them out, or --cri-endpoint=off")
	}
	c.probes = &probes
	return nil
}

// newProbes makes what asks, or nil when there is nothing to ask; runtime is nil without one.
func newProbes(c config, api apiServer, runtime *cri.Source, reconciler *reconcile.Reconciler, registry prometheus.Registerer, logger *zap.Logger) *probe.Runner {
	if c.probes == nil {
		return nil
	}
	config := probe.RunnerConfig{
		Config: *c.probes, Recorder: probe.NewMetrics(registry, c.probes.Probes), APIServer: askVersion(api.own),
		Pulled: func(ctx context.Context) []string {
			present, _ := reconciler.Present(ctx) // none while the agent stops
			return pulledFrom(present)
		},
		Logger: logger.Named("probe"),
	}
	if runtime != nil {
		config.Runtime = runtime.Ping
	}
	return probe.NewRunner(config)
}

// askVersion asks the API server for what every account may know and no etcd is asked for, once.
func askVersion(client rest.Interface) probe.RoundTrip {
	return func(ctx context.Context) error {
		return client.Get().AbsPath("/version").MaxRetries(0).Do(ctx).Error()
	}
}

// pulledFrom lists the registries that an image of these pods came from, the most used first. A registry that no pull has
// succeeded from may be anything that somebody wrote into a pod.
func pulledFrom(pods []timeline.Timeline) []string {
	pulls := map[string]int{}
	for _, t := range pods {
		for _, p := range t.Pulls {
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
