package export

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// durationBuckets runs from 10 ms to 10 min: from a container start to a large image.
var durationBuckets = []float64{
	0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600,
}

// Metrics counts settled start-ups. It is not safe for concurrent use: its one caller is
// reconcile's goroutine.
type Metrics struct {
	startup prometheus.Histogram
	phase   *prometheus.HistogramVec
	pulls   *pullMetrics
}

// NewMetrics makes the metrics of start-ups and adds them to the registerer. It panics when they
// are there already.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	m := &Metrics{
		startup: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "podlapse_pod_startup_duration_seconds",
			Help: "Time from the creation of a pod until it was ready, or had succeeded without ever " +
				"being ready. Pods that failed, were deleted before or were given up are not counted, nor are pods " +
				"whose start-up was over before the agent saw them.",
			Buckets: durationBuckets,
		}),
		phase: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "podlapse_pod_phase_duration_seconds",
			Help: "Time that one pod's start-up spent in one phase, all its stretches together, from " +
				"the end of the phase before until the start of the next; of the pods in " +
				"podlapse_pod_startup_duration_seconds, so that the sums agree. Phases that no " +
				"evidence tells apart count under the first one's name where the same party is to blame, " +
				"else as unattributed, like time that nothing explains.",
			Buckets: durationBuckets,
		}, []string{"phase"}),
		pulls: newPullMetrics(registerer),
	}
	for _, phase := range timeline.Phases() {
		m.phase.WithLabelValues(string(phase))
	}
	registerer.MustRegister(m.startup, m.phase)
	return m
}

// Observe counts one settled start-up. Pulls count whatever became of the pod.
func (m *Metrics) Observe(t timeline.Timeline) {
	if t.State == timeline.StateReady || t.State == timeline.StateSucceeded {
		m.startup.Observe(t.Total.Seconds())
		for phase, length := range lengths(t.Phases) {
			m.phase.WithLabelValues(string(phase)).Observe(length.Seconds())
		}
	}
	m.pulls.observe(t)
}

// lengths adds up the stretches of each phase.
func lengths(spans []timeline.Span) map[timeline.Phase]time.Duration {
	sums := make(map[timeline.Phase]time.Duration)
	for _, span := range spans {
		sums[span.Phase] += span.Duration()
	}
	return sums
}
