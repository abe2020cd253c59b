package export

import (
	"regexp"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// goMemory is what of the runtime's memory is worth a series: what is in use, what was ever
// allocated, and all that it has.
var goMemory = regexp.MustCompile(`^/(memory/classes/heap/objects|gc/heap/allocs|memory/classes/total):bytes$`)

// NewGoRuntime makes the collector of the Go runtime's metrics, without the twenty of its
// allocator's insides (go_memstats_…).
func NewGoRuntime() prometheus.Collector {
	return collectors.NewGoCollector(
		collectors.WithGoCollectorMemStatsMetricsDisabled(),
		collectors.WithGoCollectorRuntimeMetrics(collectors.GoRuntimeMetricsRule{Matcher: goMemory}),
	)
}
