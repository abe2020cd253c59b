package export

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/podlapse/podlapse/internal/histogram"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// lastMilestone is the milestone with the highest number.
const lastMilestone = timeline.MilestoneContainerReady

// Metrics counts settled start-ups. Metrics is not safe for concurrent use. Only reconcile's goroutine calls it.
type Metrics struct {
	startup    prometheus.Histogram
	sli        prometheus.Histogram
	phase      *prometheus.HistogramVec
	steps      *prometheus.CounterVec
	ended      *prometheus.CounterVec
	conflicts  *prometheus.CounterVec
	incomplete prometheus.Counter
	pulls      *pullMetrics
	trace      TraceOf
}

// NewMetrics creates and registers the metrics of start-ups. The argument trace can be nil. NewMetrics panics if the
// metrics are already registered.
func NewMetrics(registerer prometheus.Registerer, trace TraceOf) *Metrics {
	m := &Metrics{
		trace: trace,
		startup: prometheus.NewHistogram(histogram.Options("podlapse_pod_startup_duration_seconds",
			"Time from the creation of a pod until it was ready, or until it succeeded without ever being ready. "+
				"Excludes pods that failed, were deleted before they were ready, or were given up. Also excludes "+
				"pods whose start-up ended before the agent saw them.",
			durationBuckets)),
		sli: prometheus.NewHistogram(histogram.Options("podlapse_pod_startup_sli_duration_seconds",
			"Time from the creation of a pod until all its containers had started for the first time. Excludes image "+
				"pulls and the run of init containers, as in the Kubernetes service level indicator. Covers the pods "+
				"in podlapse_pod_startup_duration_seconds whose time is fully explained and whose pulls and runs can "+
				"be separated from the rest. Has the same buckets as kubelet_pod_start_sli_duration_seconds.",
			kubeletBuckets)),
		phase: prometheus.NewHistogramVec(histogram.Options("podlapse_pod_phase_duration_seconds",
			"Total time that the start-up of one pod spent in one phase. Each phase lasts until the next phase "+
				"starts. Covers the same pods as podlapse_pod_startup_duration_seconds, so the sums of the two "+
				"metrics are equal. If the evidence cannot separate phases of the same cause, their time counts "+
				"for the first phase. If the phases have different causes, their time counts as unattributed. "+
				"Unexplained time also counts as unattributed.",
			phaseBuckets), []string{"phase"}),
		steps: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "podlapse_pod_phase_steps_total",
			Help: "Steps in each phase of the start-ups in podlapse_pod_phase_duration_seconds. For example, a pod " +
				"with three containers has three steps of container_start, but counts once in that histogram.",
		}, []string{"phase"}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "podlapse_pod_startups_total",
			Help: "Start-ups that ended, by result: ready, succeeded, failed, deleted (before the pod was ready) or " +
				"given_up.",
		}, []string{"state"}),
		conflicts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "podlapse_evidence_conflicts_total",
			Help: "Contradictions between the sources of a start-up, by the milestone whose time they contradict.",
		}, []string{"milestone"}),
		incomplete: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "podlapse_evidence_incomplete_total",
			Help: "Start-ups in which missing evidence prevented the separation of phases.",
		}),
		pulls: newPullMetrics(registerer),
	}
	for _, phase := range timeline.Phases() {
		m.phase.WithLabelValues(string(phase))
		m.steps.WithLabelValues(string(phase))
	}
	for milestone := timeline.MilestoneCreated; milestone <= lastMilestone; milestone++ {
		m.conflicts.WithLabelValues(milestone.String())
	}
	for _, state := range []timeline.State{timeline.StateReady, timeline.StateSucceeded, timeline.StateFailed,
		timeline.StateDeleted, timeline.StateGivenUp} {
		m.ended.WithLabelValues(string(state))
	}
	registerer.MustRegister(m.startup, m.sli, m.phase, m.steps, m.ended, m.conflicts, m.incomplete)
	return m
}

// Observe counts one settled start-up. Observe counts the pulls of the start-up for every result of the start-up.
func (m *Metrics) Observe(t timeline.Timeline) {
	if t.State == timeline.StateReady || t.State == timeline.StateSucceeded {
		m.trace.observe(m.startup, t, t.Total)
		if length, known := sliDuration(t); known {
			m.trace.observe(m.sli, t, length)
		}
		for phase, length := range lengths(t.Phases) {
			m.trace.observe(m.phase.WithLabelValues(string(phase)), t, length)
		}
		for _, span := range t.Phases {
			m.steps.WithLabelValues(string(span.Phase)).Inc()
		}
	}
	m.ended.WithLabelValues(string(t.State)).Inc()
	for _, c := range t.Conflicts {
		m.conflicts.WithLabelValues(c.Milestone.String()).Inc()
	}
	if len(t.Missing) > 0 {
		m.incomplete.Inc()
	}
	m.pulls.observe(t, m.trace)
}

// ObserveEphemeral counts the pulls for ephemeral containers, which Observe does not count.
func (m *Metrics) ObserveEphemeral(t timeline.Timeline) {
	for _, p := range t.EphemeralPulls {
		m.pulls.observePull(t, p, nil)
	}
}

// The function lengths adds up the spans of each phase.
func lengths(spans []timeline.Span) map[timeline.Phase]time.Duration {
	sums := make(map[timeline.Phase]time.Duration)
	for _, span := range spans {
		sums[span.Phase] += span.Duration()
	}
	return sums
}
