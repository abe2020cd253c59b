package export

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// PodCache is what comparisons of the watched pods with lists have found so far.
type PodCache struct {
	Complete, Failed, Skipped uint64 // comparisons
	Missing, Extra, Stale     uint64 // pods
	VerifiedAt                time.Time
}

// podCache reads the numbers at each scrape.
type podCache struct {
	read                               func() PodCache
	verifications, repairs, verifiedAt *prometheus.Desc
}

// NewPodCache creates the collector of the metrics of comparisons.
func NewPodCache(read func() PodCache) prometheus.Collector {
	return &podCache{
		read: read,
		verifications: prometheus.NewDesc("podlapse_pod_cache_verifications_total",
			"Comparisons of the watched pods with a list, by result: complete; failed, the API server did not "+
				"respond; skipped, the watch was not open long enough. Only with --verify-interval.",
			[]string{"result"}, nil),
		repairs: prometheus.NewDesc("podlapse_pod_cache_repairs_total",
			"Pods that two lists five seconds apart showed differently than the watch, and that were repaired from "+
				"the list: missing, extra, stale. Only with --verify-interval.", []string{"difference"}, nil),
		verifiedAt: prometheus.NewDesc("podlapse_pod_cache_verified_timestamp_seconds",
			"Time as of which the watched pods are verified, in seconds since the Unix epoch by this node's clock. "+
				"Absent before the first complete comparison. Only with --verify-interval.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *podCache) Describe(descs chan<- *prometheus.Desc) {
	descs <- c.verifications
	descs <- c.repairs
	descs <- c.verifiedAt
}

// Collect implements prometheus.Collector; it may run on several goroutines at once.
func (c *podCache) Collect(metrics chan<- prometheus.Metric) {
	now := c.read()
	counter := func(desc *prometheus.Desc, value uint64, label string) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(value), label)
	}
	counter(c.verifications, now.Complete, "complete")
	counter(c.verifications, now.Failed, "failed")
	counter(c.verifications, now.Skipped, "skipped")
	counter(c.repairs, now.Missing, "missing")
	counter(c.repairs, now.Extra, "extra")
	counter(c.repairs, now.Stale, "stale")
	if !now.VerifiedAt.IsZero() {
		metrics <- prometheus.MustNewConstMetric(c.verifiedAt, prometheus.GaugeValue,
			float64(now.VerifiedAt.UnixNano())/1e9)
	}
}
