package podwatch

import "github.com/prometheus/client_golang/prometheus"

// verification counts what comparisons found.
type verification struct {
	complete prometheus.Counter // comparisons with a result
	failed   prometheus.Counter // comparisons that got no response from the API server
	skipped  prometheus.Counter // comparisons while the watch was not open for long enough to be judged
	// Differences that were found and repaired: pods that the watch never reported, pods whose
	// removal it never reported, and pods whose change it never reported.
	missing, extra, stale prometheus.Counter
	verifiedAt            *prometheus.GaugeVec // a vector without labels, so that the metric is absent before it is set
}

func newVerification(registerer prometheus.Registerer) *verification {
	comparisons := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "podlapse_pod_cache_verifications_total",
		Help: "Comparisons of the watched pods with a list, by result: complete; failed, the API server did not " +
			"respond; skipped, the watch was not open long enough. Only with --verify-interval.",
	}, []string{"result"})
	repairs := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "podlapse_pod_cache_repairs_total",
		Help: "Pods whose state from the watch differed from two lists taken five seconds apart, and was repaired " +
			"from the list, by difference: missing, extra, stale. Only with --verify-interval.",
	}, []string{"difference"})
	v := &verification{
		complete: comparisons.WithLabelValues("complete"),
		failed:   comparisons.WithLabelValues("failed"),
		skipped:  comparisons.WithLabelValues("skipped"),
		missing:  repairs.WithLabelValues("missing"),
		extra:    repairs.WithLabelValues("extra"),
		stale:    repairs.WithLabelValues("stale"),
		verifiedAt: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "podlapse_pod_cache_verified_timestamp_seconds",
			Help: "Time as of which the watched pods are verified, in seconds since the Unix epoch by this node's " +
				"clock. Absent before the first complete comparison. Only with --verify-interval.",
		}, nil),
	}
	registerer.MustRegister(comparisons, repairs, v.verifiedAt)
	return v
}

// add counts a complete comparison.
func (v *verification) add(found findings) {
	v.complete.Inc()
	v.missing.Add(float64(found.missing))
	v.extra.Add(float64(found.extra))
	v.stale.Add(float64(found.stale))
	v.verifiedAt.WithLabelValues().Set(float64(found.at.UnixNano()) / 1e9)
}
