// Package histogram sets the options that all histograms of the agent share.
package histogram

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Options returns the options of a histogram with classic buckets and, for servers that scrape them, native ones that
// are each at most a tenth wider than the previous one.
func Options(name, help string, buckets []float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Name: name, Help: help, Buckets: buckets,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100,
		NativeHistogramMinResetDuration: time.Hour,
	}
}
