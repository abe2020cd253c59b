package reconcile

import "github.com/prometheus/client_golang/prometheus"

// reconstructedCounts counts completed start-ups whose timeline was reconstructed. Each start-up increases at most one
// of these counters:
//
//   - over: the start-up completed before the agent started (timeline.Timeline.Reconstructed).
//   - restored: this agent reported the start-up, but a previous agent saw the beginning of the start-up.
//   - late: the agent first saw the pod in a list, and neither "over" nor "restored" applies.
type reconstructedCounts struct{ over, restored, late prometheus.Counter }

// newReconstructed creates the counters. If the registerer is not nil, newReconstructed registers the counters.
func newReconstructed(registerer prometheus.Registerer) reconstructedCounts {
	how := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "podlapse_evidence_reconstructed_total",
		Help: "Completed start-ups with a reconstructed timeline. how=\"over\": the start-up was complete before " +
			"the agent started. The other counters and the histograms exclude the start-ups with how=\"over\". " +
			"how=\"restored\": the start-up was in progress when the agent restarted with --state-dir. " +
			"how=\"late\": the agent learned about the pod from a list instead of the pod watch.",
	}, []string{"how"})
	if registerer != nil {
		registerer.MustRegister(how)
	}
	return reconstructedCounts{
		over: how.WithLabelValues("over"), restored: how.WithLabelValues("restored"), late: how.WithLabelValues("late"),
	}
}

// countSettled counts the settled start-up of a pod. If pod.reported is true, countSettled does not count the start-up.
// The argument "over" is Timeline.Reconstructed.
func (c reconstructedCounts) countSettled(p *pod, over bool) {
	switch {
	case p.reported:
	case over:
		c.over.Inc()
	case p.restored:
		c.restored.Inc()
	case p.late:
		c.late.Inc()
	}
}
