package export

import (
	"regexp"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// goMemory selects the useful metrics of the Go runtime's memory: what is in use, what was ever
// allocated, and the total.
var goMemory = regexp.MustCompile(`^/(memory/classes/heap/objects|gc/heap/allocs|memory/classes/total):bytes$`)

// NewGoRuntime creates the collector of the Go runtime's metrics, without the twenty about its
// allocator (go_memstats_…).
func NewGoRuntime() prometheus.Collector {
	return collectors.NewGoCollector(
		collectors.WithGoCollectorMemStatsMetricsDisabled(),
		collectors.WithGoCollectorRuntimeMetrics(collectors.GoRuntimeMetricsRule{Matcher: goMemory}),
	)
}
