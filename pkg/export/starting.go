package export

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// startingPods reads the starting pods at each scrape.
type startingPods struct {
	now          func() []timeline.Timeline
	pods, oldest *prometheus.Desc
}

// NewStarting creates the collector of the starting pods. During an outage, the metrics show the phases in which pods
// are stuck.
func NewStarting(now func() []timeline.Timeline) prometheus.Collector {
	phase := []string{"phase"}
	return &startingPods{
		now: now,
		pods: prometheus.NewDesc("podlapse_pods_starting",
			"Starting pods of this node, by current phase. If the value of phase=\"image_pull\" or "+
				"phase=\"sandbox_setup\" is 0, the series is absent.", phase, nil),
		oldest: prometheus.NewDesc("podlapse_pods_starting_oldest_age_seconds",
			"Longest time that a pod in podlapse_pods_starting has been in its current phase, by phase. "+
				"A phase without pods has no series.",
			phase, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *startingPods) Describe(descs chan<- *prometheus.Desc) {
	descs <- c.pods
	descs <- c.oldest
}

// Collect implements prometheus.Collector. Several goroutines can call Collect at the same time.
func (c *startingPods) Collect(metrics chan<- prometheus.Metric) {
	in := map[timeline.Phase]api.StartingRecord{}
	for _, r := range api.StartingRecords(c.now()) {
		in[r.Phase] = r
	}
	for _, phase := range timeline.Phases() {
		r := in[phase]
		if r.Pods == 0 && phase.IsGroup() && phase != timeline.PhaseUnattributed {
			// A group phase (Phase.IsGroup) without pods gets no series, because most nodes never need this series.
			continue
		}
		metrics <- prometheus.MustNewConstMetric(c.pods, prometheus.GaugeValue, float64(r.Pods), string(phase))
		if r.Pods > 0 {
			metrics <- prometheus.MustNewConstMetric(c.oldest, prometheus.GaugeValue, r.Oldest.Duration().Seconds(),
				string(phase))
		}
	}
}
