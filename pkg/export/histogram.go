package export

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// TraceOf names the trace that a start-up is told in, for exemplars; empty where it is told in
// none. It is nil where there are no traces at all.
type TraceOf func(timeline.Timeline) string

// observe adds a length of a start-up to a histogram, with the start-up's trace as the exemplar if it has one.
func (of TraceOf) observe(h prometheus.Observer, t timeline.Timeline, length time.Duration) {
	if exemplars, ok := h.(prometheus.ExemplarObserver); ok && of != nil {
		if trace := of(t); trace != "" {
			exemplars.ObserveWithExemplar(length.Seconds(), prometheus.Labels{"trace_id": trace})
			return
		}
	}
	h.Observe(length.Seconds())
}

// durationBuckets runs from 25 ms to 10 min: from a container start to a large image.
var durationBuckets = []float64{
	0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600,
}

// phaseBuckets are fewer, since each phase has its own. Native histograms tell more.
var phaseBuckets = []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120}

// pullBuckets are fewer, since each registry and outcome has its own. Native histograms tell more.
var pullBuckets = []float64{0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300}

// kubeletBuckets are those of kubelet's pod start-up metrics (pkg/kubelet/metrics, podStartupDurationBuckets), so that
// both can be compared bucket by bucket.
var kubeletBuckets = []float64{
	0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600,
}

// histogram is a histogram with buckets for everyone and, for servers that scrape them, native ones
// that are each at most a tenth wider than the one before.
func histogram(name, help string, buckets []float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Name: name, Help: help, Buckets: buckets,
		NativeHistogramBucketFactor:     1.1,
		NativeHistogramMaxBucketNumber:  100,
		NativeHistogramMinResetDuration: time.Hour,
	}
}
