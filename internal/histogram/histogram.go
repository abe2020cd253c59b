// Package histogram sets the common options of the agent's histograms. The histogram of probes does not use this
// package.
package histogram

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Options returns the options of a histogram with classic and native buckets. If 100 native buckets are enough, each
// native bucket is at most 10 % wider than the previous bucket. The classic buckets are for Prometheus servers that do
// not store native histograms. Without classic buckets, such a server stores only the count and the sum.
func Options(name, help string, buckets []float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Name: name, Help: help, Buckets: buckets,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100,
		NativeHistogramMinResetDuration: time.Hour,
	}
}
