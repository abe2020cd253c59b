package main

import (
	"regexp"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// goMemory selects the useful metrics of the Go runtime's memory: what is in use, what was ever allocated, and the
// total.
var goMemory = regexp.MustCompile(`^/(memory/classes/heap/objects|gc/heap/allocs|memory/classes/total):bytes$`)

// registerProcessMetrics registers the metrics of the Go runtime, without the twenty about its allocator
// (go_memstats_…), those of the process, and podlapse_build_info.
func registerProcessMetrics(registerer prometheus.Registerer, build buildInfo) {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "podlapse_build_info",
		Help: "Build information of the agent; always 1.",
		ConstLabels: prometheus.Labels{
			"version":   build.version,
			"revision":  build.revision,
			"goversion": build.goVersion,
		},
	})
	info.Set(1)
	registerer.MustRegister(
		info,
		collectors.NewGoCollector(
			collectors.WithGoCollectorMemStatsMetricsDisabled(),
			collectors.WithGoCollectorRuntimeMetrics(collectors.GoRuntimeMetricsRule{Matcher: goMemory}),
		),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
}
