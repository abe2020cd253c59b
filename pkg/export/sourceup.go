package export

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/podlapse/podlapse/pkg/health"
)

// sourceUp reads the state of the sources at each scrape.
type sourceUp struct {
	statuses func() []health.Status
	desc     *prometheus.Desc
}

// NewSourceUp makes the collector of podlapse_source_up over what the health board says.
func NewSourceUp(statuses func() []health.Status) prometheus.Collector {
	return &sourceUp{
		statuses: statuses,
		desc: prometheus.NewDesc("podlapse_source_up",
			"Whether a source of observations works (1) or not (0); without one, timelines lose precision.",
			[]string{"source"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *sourceUp) Describe(descs chan<- *prometheus.Desc) { descs <- c.desc }

// Collect implements prometheus.Collector; it may run on several goroutines at once.
func (c *sourceUp) Collect(metrics chan<- prometheus.Metric) {
	for _, status := range c.statuses() {
		value := 0.0
		if status.Up {
			value = 1
		}
		metrics <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, value, status.Part)
	}
}
