package export

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// clockSkew reads the skew at each scrape.
type clockSkew struct {
	skew func() timeline.Skew
	desc *prometheus.Desc
}

// NewClockSkew creates the collector of podlapse_clock_skew_seconds. While the skew is unknown, the metric has no
// samples.
func NewClockSkew(skew func() timeline.Skew) prometheus.Collector {
	return &clockSkew{
		skew: skew,
		desc: prometheus.NewDesc("podlapse_clock_skew_seconds",
			"Difference between the control plane's clock and this node's clock: the lower bound (bound=\"least\") "+
				"and the upper bound (bound=\"most\"). A positive value means that the control plane's clock is "+
				"ahead. If both bounds have the same sign, the clocks certainly differ.",
			[]string{"bound"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *clockSkew) Describe(descs chan<- *prometheus.Desc) { descs <- c.desc }

// Collect implements prometheus.Collector. Several goroutines can call Collect at the same time.
func (c *clockSkew) Collect(metrics chan<- prometheus.Metric) {
	skew := c.skew()
	if !skew.Known() {
		return
	}
	metrics <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, skew.Least.Seconds(), "least")
	metrics <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, skew.Most.Seconds(), "most")
}
