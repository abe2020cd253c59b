package reconcile

import "github.com/prometheus/client_golang/prometheus"

// reconstructed counts completed start-ups that were reconstructed afterwards, each once: over before the agent
// started (timeline.Timeline.Reconstructed); passed to Settled, and continued from a previous agent; passed to Settled,
// not restored, and first seen in a list.
type reconstructed struct{ over, restored, late prometheus.Counter }

// newReconstructed also registers the counters, unless the registerer is nil.
func newReconstructed(registerer prometheus.Registerer) reconstructed {
	how := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "podlapse_evidence_reconstructed_total",
		Help: "Start-ups whose timeline was reconstructed, counted when they ended: over, ended before the agent " +
			"started (these are in no other metric); restored, in progress during a restart of the agent with " +
			"--state-dir; late, first seen in a list instead of the open watch.",
	}, []string{"how"})
	if registerer != nil {
		registerer.MustRegister(how)
	}
	return reconstructed{
		over: how.WithLabelValues("over"), restored: how.WithLabelValues("restored"), late: how.WithLabelValues("late"),
	}
}

// count counts a settled pod. It skips what a previous agent reported, because that agent counted
// it.
func (c reconstructed) count(p *pod) {
	switch {
	case p.reported:
	case p.settled.Reconstructed:
		c.over.Inc()
	case p.restored:
		c.restored.Inc()
	case p.late:
		c.late.Inc()
	}
}
