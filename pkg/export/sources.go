package export

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Source is the state of a source of observations.
type Source struct {
	Name       string
	Up         bool
	Recoveries uint64    // how often it was up again after it had been down
	ObservedAt time.Time // when the latest observation arrived, agent's clock; zero before the first
}

// sources reads their state at each scrape.
type sources struct {
	read                     func() []Source
	up, recoveries, observed *prometheus.Desc
}

// NewSources creates the collector of the metrics of sources.
func NewSources(read func() []Source) prometheus.Collector {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("podlapse_source_"+name, help, []string{"source"}, nil)
	}
	return &sources{
		read: read,
		up: desc("up", "Whether a source of observations works: 1 if it does, 0 if not. Without one, timelines "+
			"lose precision."),
		recoveries: desc("reconnects_total",
			"Times that a source recovered from a failure. Its first connection does not count, nor does reopening "+
				"a watch that ended normally."),
		observed: desc("last_observation_timestamp_seconds",
			"Time of the latest observation of a source, in seconds since the Unix epoch by this node's clock. "+
				"Absent before the first. Without pod changes there are no observations."),
	}
}

// Describe implements prometheus.Collector.
func (c *sources) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{c.up, c.recoveries, c.observed} {
		descs <- desc
	}
}

// Collect implements prometheus.Collector; it may run on several goroutines at once.
func (c *sources) Collect(metrics chan<- prometheus.Metric) {
	for _, source := range c.read() {
		up := 0.0
		if source.Up {
			up = 1
		}
		metrics <- prometheus.MustNewConstMetric(c.up, prometheus.GaugeValue, up, source.Name)
		metrics <- prometheus.MustNewConstMetric(c.recoveries, prometheus.CounterValue, float64(source.Recoveries),
			source.Name)
		if !source.ObservedAt.IsZero() {
			metrics <- prometheus.MustNewConstMetric(c.observed, prometheus.GaugeValue,
				time.Duration(source.ObservedAt.UnixNano()).Seconds(), source.Name)
		}
	}
}
