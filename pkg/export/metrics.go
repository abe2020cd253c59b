package export

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/podlapse/podlapse/internal/histogram"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Metrics counts settled start-ups. Metrics is not safe for concurrent use. Only the goroutine of package reconcile
// calls the methods of Metrics.
type Metrics struct {
	startup    prometheus.Histogram
	sli        prometheus.Histogram
	phase      *prometheus.HistogramVec
	steps      *prometheus.CounterVec
	ended      *prometheus.CounterVec
	conflicts  prometheus.Counter
	incomplete prometheus.Counter
	unreported prometheus.Counter
	pulls      *pullMetrics
	trace      TraceOf
}

// NewMetrics creates and registers the metrics of start-ups. The argument "trace" can be nil. NewMetrics panics if the
// metrics are already registered.
func NewMetrics(registerer prometheus.Registerer, trace TraceOf) *Metrics {
	m := &Metrics{
		trace: trace,
		startup: prometheus.NewHistogram(histogram.Options("podlapse_pod_startup_duration_seconds",
			"Time from the creation of a pod until the pod was ready, or until the pod succeeded without becoming "+
				"ready. Excludes pods that failed, pods that were deleted before they were ready, and pods that "+
				"the agent gave up on. Also excludes start-ups that ended before the agent saw the pod, and "+
				"start-ups during which the node's clock was set.",
			durationBuckets)),
		sli: prometheus.NewHistogram(histogram.Options("podlapse_pod_startup_sli_duration_seconds",
			"Time from the creation of a pod until all containers of the pod had started for the first time. "+
				"Excludes image pulls and the run time of init containers, as in the Kubernetes service level "+
				"indicator. Covers the pods in podlapse_pod_startup_duration_seconds. Excludes a pod if the agent "+
				"does not know when all containers started, or if it cannot separate the time of image pulls and init "+
				"containers from the rest of the start-up. The buckets are the same as in "+
				"kubelet_pod_start_sli_duration_seconds.",
			kubeletBuckets)),
		phase: prometheus.NewHistogramVec(histogram.Options("podlapse_pod_phase_duration_seconds",
			"Total time that the start-up of one pod spent in one phase. Each phase lasts until the next phase "+
				"starts. Covers the same pods as podlapse_pod_startup_duration_seconds, so the sums of the two "+
				"metrics are equal. If the agent cannot separate phases with the same cause, their time counts for "+
				"the first of these phases. If it cannot separate phases with different causes, their time counts for "+
				"\"image_pull\", \"sandbox_setup\" or \"unattributed\" (docs/architecture.md, Phases). This metric is "+
				"a native histogram without classic buckets.",
			nil), []string{"phase"}),
		steps: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "podlapse_pod_phase_steps_total",
			Help: "Steps of the phases in podlapse_pod_phase_duration_seconds. A step is one occurrence of a phase. " +
				"For example, a pod with three containers can have three steps with phase=\"container_start\". " +
				"podlapse_pod_phase_duration_seconds adds up these three steps and counts one observation.",
		}, []string{"phase"}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "podlapse_pod_startups_total",
			Help: "Start-ups that are over, by state of the pod: \"ready\", \"succeeded\", \"failed\", \"deleted\" " +
				"(before the pod was ready) or \"given_up\" (not ready one hour after the agent first saw the pod).",
		}, []string{"state"}),
		conflicts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "podlapse_evidence_conflicts_total",
			Help: "Conflicts in the evidence about start-ups. In a conflict, two sources contradict each other about " +
				"the time of one milestone, for example the start of a container. The record of the start-up names " +
				"the milestone.",
		}),
		incomplete: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "podlapse_evidence_incomplete_total",
			Help: "Start-ups with missing evidence. A start-up counts in any of four cases: no evidence shows the " +
				"time of a milestone such as the start of a container, the agent reached one of its limits, the " +
				"node's clock was set, or a lost Event leaves the time of a pull in the phase \"unattributed\". Two " +
				"kinds of evidence never count as missing: Events that the kubelet drops by design after 25 Events " +
				"about one pod, and evidence that the container runtime can never report (see " +
				"podlapse_evidence_unreported_total).",
		}),
		unreported: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "podlapse_evidence_unreported_total",
			Help: "Milestones of start-ups whose time the node's container runtime can never report. For example, " +
				"CRI-O never reports the end of the network setup, and containerd 1.x never reports the start of a " +
				"sandbox. podlapse_evidence_incomplete_total does not count these milestones.",
		}),
		pulls: newPullMetrics(registerer),
	}
	for _, phase := range timeline.Phases() {
		m.phase.WithLabelValues(string(phase))
		m.steps.WithLabelValues(string(phase))
	}
	for _, state := range []timeline.State{timeline.StateReady, timeline.StateSucceeded, timeline.StateFailed,
		timeline.StateDeleted, timeline.StateGivenUp} {
		m.ended.WithLabelValues(string(state))
	}
	registerer.MustRegister(m.startup, m.sli, m.phase, m.steps, m.ended, m.conflicts, m.incomplete, m.unreported)
	return m
}

// Observe counts one settled start-up. Observe counts the pulls of every start-up, including failed start-ups.
func (m *Metrics) Observe(t timeline.Timeline) {
	if (t.State == timeline.StateReady || t.State == timeline.StateSucceeded) && !t.ClockWasSet() {
		m.trace.observeWithExemplar(m.startup, t, t.Total)
		if length, known := sliDuration(t); known {
			m.trace.observeWithExemplar(m.sli, t, length)
		}
		for phase, length := range durationsByPhase(t.Phases) {
			m.trace.observeWithExemplar(m.phase.WithLabelValues(string(phase)), t, length)
		}
		for _, span := range t.Phases {
			m.steps.WithLabelValues(string(span.Phase)).Inc()
		}
	}
	m.ended.WithLabelValues(string(t.State)).Inc()
	m.conflicts.Add(float64(len(t.Conflicts)))
	if t.Incomplete {
		m.incomplete.Inc()
	}
	m.unreported.Add(float64(len(t.Unreported)))
	m.pulls.observe(t, m.trace)
}

// ObserveEphemeral counts the pulls for ephemeral containers, which Observe does not count.
func (m *Metrics) ObserveEphemeral(t timeline.Timeline) {
	for _, p := range t.EphemeralPulls {
		m.pulls.observePull(t, p, nil)
	}
}

// durationsByPhase adds up the spans of each phase.
func durationsByPhase(spans []timeline.Span) map[timeline.Phase]time.Duration {
	sums := make(map[timeline.Phase]time.Duration)
	for _, span := range spans {
		sums[span.Phase] += span.Duration()
	}
	return sums
}
