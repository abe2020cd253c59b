// Package histogram sets the common options of the agent's histograms, except the histogram of probes.
package histogram

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Options returns the options of a histogram with classic and native buckets. Each native bucket is at most 10 %
// wider than the previous bucket, unless the histogram needs more than 100 native buckets. Without classic buckets, a
// Prometheus that does not store native histograms stores only the count and the sum.
func Options(name, help string, buckets []float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Name: name, Help: help, Buckets: buckets,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100,
		NativeHistogramMinResetDuration: time.Hour,
	}
}
