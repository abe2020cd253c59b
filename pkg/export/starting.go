package export

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// starting asks for the pods that start at each scrape.
type starting struct {
	now          func() []timeline.Timeline
	pods, oldest *prometheus.Desc
}

// NewStarting makes the collector of the pods that start: during a stall it shows where they are stuck.
func NewStarting(now func() []timeline.Timeline) prometheus.Collector {
	phase := []string{"phase"}
	return &starting{
		now: now,
		pods: prometheus.NewDesc("podlapse_pods_starting",
			"Pods of this node whose start-up goes on, by the phase that they are in.", phase, nil),
		oldest: prometheus.NewDesc("podlapse_pods_starting_oldest_age_seconds",
			"Time in its current phase of the pod that has been in that phase the longest, of those in podlapse_pods_starting; 0 when none is.", phase, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *starting) Describe(descs chan<- *prometheus.Desc) {
	descs <- c.pods
	descs <- c.oldest
}

// Collect implements prometheus.Collector; it may run on several goroutines at once.
func (c *starting) Collect(metrics chan<- prometheus.Metric) {
	pods := map[timeline.Phase]int{}
	oldest := map[timeline.Phase]time.Duration{}
	for _, t := range c.now() {
		if t.State != timeline.StateStarting || len(t.Phases) == 0 {
			continue
		}
		last := t.Phases[len(t.Phases)-1]
		pods[last.Phase]++
		oldest[last.Phase] = max(oldest[last.Phase], last.Duration())
	}
	for _, phase := range timeline.Phases() {
		metrics <- prometheus.MustNewConstMetric(c.pods, prometheus.GaugeValue, float64(pods[phase]), string(phase))
		metrics <- prometheus.MustNewConstMetric(c.oldest, prometheus.GaugeValue, oldest[phase].Seconds(), string(phase))
	}
}
