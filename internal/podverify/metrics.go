package podverify

import "github.com/prometheus/client_golang/prometheus"

// comparisonCounts counts the results of comparisons.
type comparisonCounts struct {
	complete prometheus.Counter // comparisons that the agent completed
	failed   prometheus.Counter // comparisons that failed, for example because the API server returned no list
	skipped  prometheus.Counter // comparisons that the agent skipped, because the watch was not open for long enough
	// Counters of repaired pods. "missing": the watch had not reported the pod. "extra": the watch had not reported the
	// deletion of the pod. "stale": the watch had not reported a change of the pod.
	missing, extra, stale prometheus.Counter
	// verifiedAt is a vector without labels, because a plain gauge would export 0 before the first comparison.
	verifiedAt *prometheus.GaugeVec
}

func newVerification(registerer prometheus.Registerer) *comparisonCounts {
	comparisons := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "podlapse_pod_cache_verifications_total",
		Help: "Comparisons of the pods from the agent's watch with a list from the API server, by result. " +
			"result=\"complete\": the agent compared all pods. result=\"failed\": the agent got no complete list. " +
			"result=\"skipped\": the pod watch had not been open for long enough. Requires --verify-interval.",
	}, []string{"result"})
	repairs := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "podlapse_pod_cache_repairs_total",
		Help: "Pods whose state the agent repaired, because the state from the pod watch was wrong. Before a " +
			"repair, the agent requests two lists from the API server, at least five seconds apart. Both lists must " +
			"contradict the watch. difference=\"missing\": the watch had not reported the pod. " +
			"difference=\"extra\": the watch had not reported the deletion of the pod. difference=\"stale\": the " +
			"watch had not reported a change of the pod. Requires --verify-interval.",
	}, []string{"difference"})
	v := &comparisonCounts{
		complete: comparisons.WithLabelValues("complete"),
		failed:   comparisons.WithLabelValues("failed"),
		skipped:  comparisons.WithLabelValues("skipped"),
		missing:  repairs.WithLabelValues("missing"),
		extra:    repairs.WithLabelValues("extra"),
		stale:    repairs.WithLabelValues("stale"),
		verifiedAt: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "podlapse_pod_cache_verified_timestamp_seconds",
			Help: "Time at which the latest complete comparison of the agent's pods with a list from the API server " +
				"began, in seconds since the Unix epoch on this node's clock. Absent before the first complete " +
				"comparison. Requires --verify-interval.",
		}, nil),
	}
	registerer.MustRegister(comparisons, repairs, v.verifiedAt)
	return v
}

// add updates the metrics after a complete comparison.
func (v *comparisonCounts) add(found findings) {
	v.complete.Inc()
	v.missing.Add(float64(found.missing))
	v.extra.Add(float64(found.extra))
	v.stale.Add(float64(found.stale))
	v.verifiedAt.WithLabelValues().Set(float64(found.at.UnixNano()) / 1e9)
}
