package annotate

import "github.com/prometheus/client_golang/prometheus"

// All possible results of a write request to the API server.
const (
	resultWritten  = "written"
	resultConflict = "conflict" // the pod changed before the write, or another pod now has the same name
	resultGone     = "gone"
	resultRefused  = "refused" // RBAC, admission or validation refused the request, or no policy limits the agent
	resultFailed   = "failed"  // no response, or a temporary failure
)

// newMetrics registers the metrics of the annotations, and returns the counter of write requests by result.
func newMetrics(registerer prometheus.Registerer, waiting func() int) *prometheus.CounterVec {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "podlapse_annotation_requests_total",
		Help: "Attempts of the agent to annotate a pod, by result. After result=\"conflict\" or result=\"failed\", " +
			"the agent tries again within one minute. After result=\"refused\", the agent tries again after five " +
			"minutes. Requires --annotate.",
	}, []string{"result"})
	for _, result := range []string{resultWritten, resultConflict, resultGone, resultRefused, resultFailed} {
		requests.WithLabelValues(result)
	}
	registerer.MustRegister(requests, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "podlapse_annotation_waiting_pods",
		Help: "Pods of this node that still wait for the annotations that they request. Includes starting pods. " +
			"Requires --annotate.",
	}, func() float64 { return float64(waiting()) }))
	return requests
}
