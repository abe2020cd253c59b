package main

import (
	"regexp"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// goMemory selects two memory metrics of the Go runtime: heap in use, and all allocations since the start.
var goMemory = regexp.MustCompile(`^/(memory/classes/heap/objects|gc/heap/allocs):bytes$`)

// registerProcessMetrics registers podlapse_build_info and the metrics of the process and of the Go runtime.
// registerProcessMetrics leaves out about twenty metrics of Go's memory allocator (go_memstats_*).
func registerProcessMetrics(registerer prometheus.Registerer, build buildInfo) {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "podlapse_build_info",
		Help: "Build information of the agent. The value is always 1.",
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
