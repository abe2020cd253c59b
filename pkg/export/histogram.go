package export

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// TraceOf returns the ID of a start-up's trace. Exemplars contain this ID. If the start-up has no trace, the result is
// empty. A nil TraceOf means that no start-up has a trace.
type TraceOf func(timeline.Timeline) string

// observeWithExemplar adds a duration of a start-up to a histogram. If the start-up has a trace, the exemplar contains
// the ID of the trace.
func (of TraceOf) observeWithExemplar(h prometheus.Observer, t timeline.Timeline, length time.Duration) {
	if exemplars, ok := h.(prometheus.ExemplarObserver); ok && of != nil {
		if trace := of(t); trace != "" {
			exemplars.ObserveWithExemplar(length.Seconds(), prometheus.Labels{"trace_id": trace})
			return
		}
	}
	h.Observe(length.Seconds())
}

// durationBuckets cover durations from 25 ms, such as the start of a container, to 10 min, such as the pull of a large
// image.
var durationBuckets = []float64{
	0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600,
}

// pullBuckets has few buckets, because each combination of registry and outcome has its own series. Native histograms
// have finer buckets. A recording rule uses the bucket of 5 s.
var pullBuckets = []float64{1, 5, 15, 60, 300}

// kubeletBuckets are the buckets of the kubelet's pod start-up metrics (pkg/kubelet/metrics,
// podStartupDurationBuckets). Because the buckets are the same, users can compare each bucket of the kubelet's metrics
// with the same bucket of the agent's metrics.
var kubeletBuckets = []float64{
	0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600,
}
