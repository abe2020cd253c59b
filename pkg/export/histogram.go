package export

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// TraceOf returns the ID of a start-up's trace, for exemplars; empty if it has no trace. A nil
// TraceOf means that there are no traces.
type TraceOf func(timeline.Timeline) string

// observe adds a duration of a start-up to a histogram, with the start-up's trace as the exemplar
// if it has one.
func (of TraceOf) observe(h prometheus.Observer, t timeline.Timeline, length time.Duration) {
	if exemplars, ok := h.(prometheus.ExemplarObserver); ok && of != nil {
		if trace := of(t); trace != "" {
			exemplars.ObserveWithExemplar(length.Seconds(), prometheus.Labels{"trace_id": trace})
			return
		}
	}
	h.Observe(length.Seconds())
}

// durationBuckets range from 25 ms to 10 min: from a container start to a large image.
var durationBuckets = []float64{
	0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600,
}

// phaseBuckets are fewer, because each phase has its own series. Native histograms are more exact.
var phaseBuckets = []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120}

// pullBuckets are fewer, because each registry and outcome has its own series. Native histograms
// are more exact.
var pullBuckets = []float64{0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300}

// kubeletBuckets are those of the kubelet's pod start-up metrics (pkg/kubelet/metrics,
// podStartupDurationBuckets), so that both can be compared bucket by bucket.
var kubeletBuckets = []float64{
	0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600,
}
